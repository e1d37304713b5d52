//! Runtimes.

use ah_model::{RawJson, RuntimeSpec};
use axum::Router;
use axum::extract::State;
use axum::routing::put;
use serde::Deserialize;

use crate::answer::{Answer, ok};
use crate::extract::{JsonBody, Pairs, given};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/runtimes", put(put_runtime).get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
