//! What an executor does for all of its runs at once: it keeps leases, reports from its outbox, and
//! hears what to stop.

use ah_model::limits::{LEASE_MS_MAX, LEASE_MS_MIN, RENEW_RUNS_MAX};
use ah_model::{ExecutorId, Lease, OutboxId, Renewed, Reports, ReportsTaken, Run};
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::executor::check_named;
use crate::access::Access;
use crate::answer::{Answer, Items, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::REPORTS_BODY_BYTES_MAX;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let orders = doc("The runs an executor has to stop").answers::<Items<Run>>(200);
    let renewed = doc("Keeps leases of an executor").answers::<Renewed>(200);
    let taken = doc("Takes what an executor reports from its outbox").answers::<ReportsTaken>(200);
    let kept = doc("How far the reports of an outbox are kept")
        .query([params::outbox()])
        .answers::<Reported>(200);
    Routes::new()
        .post("/executors/{id}/stop-orders", Access::EXECUTE, orders, stop_orders)
        .post("/executors/{id}/renewals", Access::EXECUTE, renewed, renew)
        .post("/executors/{id}/reports", Access::EXECUTE, taken, take)
        .get("/executors/{id}/reports", Access::LOOK, kept, through)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "KeptLeases")]
struct Kept {
    #[schemars(length(max = RENEW_RUNS_MAX))]
    leases: Vec<Lease>,
    #[schemars(range(min = LEASE_MS_MIN, max = LEASE_MS_MAX))]
    lease_ms: u64,
}

/// How far reports are kept.
#[derive(Serialize, JsonSchema)]
struct Reported {
    /// Every item up to this number; 0 if there is none.
    through: u64,
}

async fn stop_orders(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    let items = state.call(|store| async move { store.stop_orders(id).await }).await?;
    ok(&Items { items })
}

async fn renew(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(Kept { leases, lease_ms }, _share): JsonBody<Kept>,
) -> Answer {
    let renewed =
        state.call(move |store| async move { store.renew_runs(id, leases, lease_ms).await });
    ok(&renewed.await?)
}

async fn take(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(reports, _share): JsonBody<Reports, REPORTS_BODY_BYTES_MAX>,
) -> Answer {
    check_named(&id, &reports.executor_id)?;
    ok(&state.call(|store| async move { store.take_reports(reports).await }).await?)
}

async fn through(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    pairs: Pairs,
) -> Answer {
    let outbox: OutboxId = pairs.text("outboxId")?.parse()?;
    let through = state.call(|store| async move { store.reported_through(id, outbox).await });
    ok(&Reported { through: through.await? })
}
