//! What mail, approvals and questions share: waiting, deadlines, and bringing them from elsewhere.

use std::time::Duration;

use ah_model::{Awaited, HiveImport, HiveImported, HiveSwept};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use super::{approval, question};
use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs};
use crate::limits::{EVENTS_BODY_BYTES_MAX, HIVE_WAIT_MS_MAX};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let swept = doc("Applies what time has decided about messages and questions");
    let imported = doc("Brings in messages, approvals and questions of another store");
    let imported = imported.answers::<HiveImported>(200).fails([404, 409]);
    Routes::new()
        .post("/hive/sweep", Access::OPERATE, swept.answers::<HiveSwept>(200), sweep)
        .get("/hive/wait", Access::OVERSEE.of_party(), about_wait(), wait)
        .post("/hive/import", Access::OPERATE, imported, import)
}

fn about_wait() -> Doc {
    let doc = doc("Waits for mail, the end of a question or the decision of an approval");
    doc.query(params::awaited()).answers::<Waited>(200).fails([404, 409])
}

/// How a wait ended.
#[derive(Serialize, JsonSchema)]
struct Waited {
    /// Whether there may be what was awaited; else the time was over.
    ready: bool,
}

async fn sweep(State(state): State<ServerState>) -> Answer {
    ok(&state.call(|store| async move { store.sweep_hive().await }).await?)
}

async fn wait(State(state): State<ServerState>, caller: Caller, pairs: Pairs) -> Answer {
    let awaited = pairs.read::<Awaited>()?;
    let ms = pairs.number("waitMs")?.unwrap_or(HIVE_WAIT_MS_MAX);
    if ms > HIVE_WAIT_MS_MAX {
        let reason = format!("{ms} milliseconds, at most {HIVE_WAIT_MS_MAX} are allowed");
        return Err(Failure::invalid("waitMs", reason));
    }
    check_own(&state, &caller, &awaited).await?;
    let ready = state.waited_for(awaited, Duration::from_millis(ms)).await?;
    ok(&Waited { ready })
}

async fn import(
    State(state): State<ServerState>,
    JsonBody(import, _share): JsonBody<HiveImport, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    ok(&state.call(|store| async move { store.import_hive(import).await }).await?)
}

/// Refuses an agent that waits for what is another's.
async fn check_own(state: &ServerState, caller: &Caller, awaited: &Awaited) -> Result<(), Failure> {
    match awaited {
        Awaited::Mail(party) => caller.must_be(party, "wait for the mail of"),
        Awaited::Question(id) if caller.agent().is_some() => {
            question::own(state, caller, id.clone()).await.map(drop)
        }
        Awaited::Approval(id) if caller.agent().is_some() => {
            approval::own(state, caller, id.clone()).await.map(drop)
        }
        Awaited::Question(_) | Awaited::Approval(_) => Ok(()),
    }
}
