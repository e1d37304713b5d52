//! Runtimes.

use ah_model::{Page, RawJson, Runtime, RuntimeSpec};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::{JsonBody, Pairs, given};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let put = doc("Records a runtime").answers::<Runtime>(200);
    let all = doc("Runtimes").query(params::page()).answers::<Page<Runtime>>(200);
    Routes::new().put("/runtimes", Access::EXECUTE, put, put_runtime).get(
        "/runtimes",
        Access::LOOK,
        all,
        list,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewRuntime")]
struct Given {
    runtime: RuntimeSpec,
    #[serde(default, deserialize_with = "given")]
    metadata: Option<RawJson>,
}

async fn put_runtime(
    State(state): State<ServerState>,
    JsonBody(Given { runtime, metadata }, _share): JsonBody<Given>,
) -> Answer {
    let put = state.call(|store| async move { store.put_runtime(runtime, metadata).await });
    ok(&put.await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_runtimes(page).await }).await?)
}
