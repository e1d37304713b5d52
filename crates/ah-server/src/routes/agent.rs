//! Agents: identities, at `/agent-instances`, because `/agents` is the catalogue of kinds.

use std::sync::Arc;

use ah_model::limits::APPEND_EVENTS_MAX;
use ah_model::{
    AgentFilter, AgentId, AgentImport, AgentUpdate, Lifecycle, NewAgent, NewEvent, Order, Renewal,
    SessionId,
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::session::origin;
use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::extract::{JsonBody, Pairs, PathId, bounded_events};
use crate::host;
use crate::limits::{EVENTS_BODY_BYTES_MAX, PROMPT_BODY_BYTES_MAX};
use crate::links::{Linked, linked};
use crate::routing::{Routes, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let (own, own_append) = (Access::LOOK.of_agent(), Access::EXECUTE.of_agent());
    Routes::new()
        .post("/agent-instances", Access::OPERATE, docs::create(), create)
        .get("/agent-instances", Access::LOOK, docs::list(), list)
        .get("/agent-instances/{id}", own, docs::show(), show)
        .patch("/agent-instances/{id}", Access::OPERATE, docs::update(), update)
        .put("/agent-instances/{id}/lifecycle", Access::OPERATE, docs::lifecycle(), set_lifecycle)
        .post("/agent-instances/{id}/destroy", Access::OPERATE, docs::destroy(), destroy)
        .post("/agent-instances/{id}/revive", Access::OPERATE, docs::revive(), revive)
        .post("/agent-instances/{id}/purge", Access::OPERATE, docs::purge(), purge)
        .post("/agent-instances/{id}/sessions", Access::OPERATE, docs::renew(), renew)
        .get("/agent-instances/{id}/sessions", own, docs::sessions(), sessions)
        .post("/agent-instances/{id}/events", own_append, docs::append(), append)
        .get("/agent-names", Access::LOOK.of_agent_name(), docs::of_name(), of_name)
        .get("/agent-origins", Access::LOOK, docs::of_origin(), of_origin)
        .get("/agent-ids", Access::LOOK, docs::ids(), ids)
        .post("/agent-imports", Access::OPERATE, docs::import(), import)
}

/// What is said of these routes.
mod docs {
    use ah_model::{Agent, AgentId, AgentImported, Appended, Approval, Page, RemovalStep};

    use super::{Found, Items, Linked};
    use crate::routing::{Doc, Param, doc, params};

    pub(super) fn create() -> Doc {
        let doc = doc("Creates an agent and its first session");
        doc.answers::<Agent>(201).fails([404, 409, 501])
    }

    pub(super) fn list() -> Doc {
        let doc = doc("Agents by name").query(params::agents());
        doc.query(params::page()).answers::<Page<Agent>>(200)
    }

    pub(super) fn show() -> Doc {
        doc("Shows an agent").answers::<Agent>(200).fails([404])
    }

    pub(super) fn update() -> Doc {
        doc("Changes what is given of an agent").answers::<Agent>(200).fails([404, 409])
    }

    pub(super) fn lifecycle() -> Doc {
        let doc = doc("Puts an agent to sleep, wakes it, or lets it die");
        doc.answers::<Agent>(200).fails([404, 409])
    }

    pub(super) fn destroy() -> Doc {
        let doc = doc("Leaves a tombstone of an agent; everything else of it is kept");
        doc.answers::<Agent>(200).fails([404, 409])
    }

    pub(super) fn revive() -> Doc {
        let doc = doc("Asks for the spawn of a destroyed agent with what it left");
        doc.answers::<Approval>(201).fails([404, 409])
    }

    pub(super) fn purge() -> Doc {
        let doc = doc("Removes some of what a destroyed agent left, in the end itself");
        doc.answers::<RemovalStep>(200).fails([404, 409])
    }

    pub(super) fn renew() -> Doc {
        let doc = doc("Begins an agent's next session: reset, compaction or fork");
        doc.answers::<Linked>(201).fails([404, 409])
    }

    pub(super) fn sessions() -> Doc {
        let doc = doc("An agent's sessions by their number");
        let doc = doc.query([params::order()]).query(params::page());
        doc.answers::<Page<Linked>>(200).fails([404])
    }

    pub(super) fn append() -> Doc {
        let doc = doc("Appends events to an agent's active session");
        doc.answers::<Appended>(201).fails([404, 409])
    }

    pub(super) fn of_name() -> Doc {
        let name = Param::text("name", "The whole name, in any case of its letters");
        doc("Finds an agent by its name").query([name.required()]).answers::<Found>(200)
    }

    pub(super) fn of_origin() -> Doc {
        let doc = doc("Finds an agent by where it came from");
        doc.query(params::origin()).answers::<Found>(200)
    }

    pub(super) fn ids() -> Doc {
        let doc = doc("The ids of agents that begin so, at most two");
        doc.query([params::prefix()]).answers::<Items<AgentId>>(200)
    }

    pub(super) fn import() -> Doc {
        let doc = doc("Brings in an agent of another store with its history");
        doc.answers::<AgentImported>(200).fails([404, 409, 501])
    }
}

/// What a lookup found. Agents hold raw JSON, which must not go through a value.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FoundAgent")]
struct Found {
    agent: Option<ah_model::Agent>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LifecycleChange")]
struct Moved {
    /// The lifecycle wanted.
    lifecycle: Lifecycle,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "EventsOfAgent")]
struct Given {
    /// In the order in which they happened.
    #[schemars(length(min = 1, max = APPEND_EVENTS_MAX))]
    #[serde(deserialize_with = "bounded_events")]
    events: Vec<NewEvent>,
    /// Only if this session is the active one.
    #[serde(default)]
    expected_session: Option<SessionId>,
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(new, _share): JsonBody<NewAgent, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    created(&state.host_call(|host| host::create_agent(host, new)).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<AgentId>) -> Answer {
    ok(&state.call(|store| async move { store.agent(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    pairs.only(params::agents().into_iter().chain(params::page()))?;
    let (filter, page) = (pairs.read::<AgentFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_agents(filter, page).await }).await?)
}

async fn update(
    State(state): State<ServerState>,
    PathId(id): PathId<AgentId>,
    JsonBody(update, _share): JsonBody<AgentUpdate>,
) -> Answer {
    ok(&state.host_call(|host| host::update_agent(host, id, update)).await?)
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

async fn destroy(State(state): State<ServerState>, PathId(id): PathId<AgentId>) -> Answer {
    ok(&state.call(|store| async move { store.destroy_agent(id).await }).await?)
}

async fn revive(State(state): State<ServerState>, PathId(id): PathId<AgentId>) -> Answer {
    created(&state.call(|store| async move { store.revive_agent(id).await }).await?)
}

/// The agent's tokens go with it, so tokens are read anew once it is done, also when its client does
/// not wait for it.
async fn purge(State(state): State<ServerState>, PathId(id): PathId<AgentId>) -> Answer {
    let tokens = Arc::clone(&state.auth);
    let step = state.host_call(move |host| {
        let step = host.purge_step(id);
        tokens.forget();
        step
    });
    ok(&step.await?)
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
