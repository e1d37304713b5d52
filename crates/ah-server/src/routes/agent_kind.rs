//! Agent kinds: the catalogue of programs, at `/agents` as in the first API.

use ah_model::{AgentKind, AgentKindRef, Page, RawJson};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::{JsonBody, Pairs, given};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let put = doc("Records a kind of agent").answers::<AgentKind>(200);
    let all = doc("Kinds of agents").query(params::page()).answers::<Page<AgentKind>>(200);
    Routes::new().put("/agents", Access::EXECUTE, put, put_kind).get(
        "/agents",
        Access::LOOK,
        all,
        list,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewAgentKind")]
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
