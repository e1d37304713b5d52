//! Agents: identities, at `/agent-instances`, because `/agents` is the catalogue of kinds.

use ah_model::{
    AgentFilter, AgentId, AgentImport, AgentUpdate, Lifecycle, NewAgent, NewEvent, Order, Renewal,
    SessionId,
};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post, put};
use serde::{Deserialize, Serialize};

use super::session::origin;
use crate::answer::{Answer, Items, created, ok};
use crate::extract::{JsonBody, Pairs, PathId, bounded_events};
use crate::limits::{EVENTS_BODY_BYTES_MAX, PROMPT_BODY_BYTES_MAX};
use crate::links::{Linked, linked};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/agent-instances", post(create).get(list))
        .route("/agent-instances/{id}", get(show).patch(update))
        .route("/agent-instances/{id}/lifecycle", put(set_lifecycle))
        .route("/agent-instances/{id}/sessions", post(renew).get(sessions))
        .route("/agent-instances/{id}/events", post(append))
        .route("/agent-names", get(of_name))
        .route("/agent-origins", get(of_origin))
        .route("/agent-ids", get(ids))
        .route("/agent-imports", post(import))
}

/// What a lookup found. Agents hold raw JSON, which must not go through a value.
#[derive(Serialize)]
struct Found {
    agent: Option<ah_model::Agent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moved {
    lifecycle: Lifecycle,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    #[serde(deserialize_with = "bounded_events")]
    events: Vec<NewEvent>,
    #[serde(default)]
    expected_session: Option<SessionId>,
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(new, _share): JsonBody<NewAgent, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    created(&state.call(|store| async move { store.create_agent(new).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<AgentId>) -> Answer {
    ok(&state.call(|store| async move { store.agent(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<AgentFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_agents(filter, page).await }).await?)
}

async fn update(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    JsonBody(update, _share): JsonBody<AgentUpdate>,
) -> Answer {
    ok(&state.call(|store| async move { store.update_agent(id, update).await }).await?)
}

async fn set_lifecycle(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    JsonBody(Moved { lifecycle }, _share): JsonBody<Moved>,
) -> Answer {
    let set =
        state.call(move |store| async move { store.set_agent_lifecycle(id, lifecycle).await });
    ok(&set.await?)
}

async fn renew(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    JsonBody(renewal, _share): JsonBody<Renewal, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    let session = state.call(|store| async move { store.renew_agent(id, renewal).await }).await?;
    created(&Linked::from(session))
}

async fn sessions(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    pairs: Pairs,
) -> Answer {
    let (order, page) = (pairs.read::<Order>()?, pairs.read()?);
    let sessions =
        state.call(move |store| async move { store.agent_sessions(id, order, page).await });
    ok(&linked(sessions.await?))
}

async fn append(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    JsonBody(given, _share): JsonBody<Given, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    let Given { events, expected_session } = given;
    let append = state
        .append(|store| async move { store.append_to_agent(id, expected_session, events).await });
    created(&append.await?)
}

async fn of_name(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let name = pairs.text("name")?;
    let agent = state.call(|store| async move { store.agent_of_name(name).await }).await?;
    ok(&Found { agent })
}

async fn of_origin(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let origin = origin(&pairs)?;
    let agent = state.call(|store| async move { store.agent_of_origin(origin).await }).await?;
    ok(&Found { agent })
}

async fn ids(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let prefix = pairs.text("prefix")?;
    let ids = state.call(|store| async move { store.agent_ids_with_prefix(prefix).await });
    ok(&Items { items: ids.await? })
}

async fn import(
    State(state): State<ServerState>,
    JsonBody(import, _share): JsonBody<AgentImport, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    ok(&state.call(|store| async move { store.import_agent(import).await }).await?)
}
