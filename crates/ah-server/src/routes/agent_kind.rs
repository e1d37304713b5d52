//! Agent kinds: the catalogue of programs, at `/agents` as in the first API.

use ah_model::{AgentKindRef, RawJson};
use axum::Router;
use axum::extract::State;
use axum::routing::put;
use serde::Deserialize;

use crate::answer::{Answer, ok};
use crate::extract::{JsonBody, Pairs, given};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/agents", put(put_kind).get(list))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    agent: AgentKindRef,
    #[serde(default, deserialize_with = "given")]
    metadata: Option<RawJson>,
}

async fn put_kind(
    State(state): State<ServerState>,
    JsonBody(Given { agent, metadata }, _share): JsonBody<Given>,
) -> Answer {
    let put = state.call(|store| async move { store.put_agent_kind(agent, metadata).await });
    ok(&put.await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_agent_kinds(page).await }).await?)
}
