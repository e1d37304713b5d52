//! Sessions.

use ah_model::limits::SHORT_TEXT_BYTES_MAX;
use ah_model::{ExportHeader, NewSession, Origin, SessionId, SessionUpdate, StatusChange};
use ah_store::SessionFork;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{session_export, session_list};
use crate::access::Access;
use crate::answer::{self, Answer, Items, created, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::{EVENTS_BODY_BYTES_MAX, PROMPT_BODY_BYTES_MAX};
use crate::links::Linked;
use crate::problem::Failure;
use crate::routing::Routes;
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    Routes::new()
        .post("/sessions", Access::OPERATE, docs::create(), create)
        .get("/sessions", Access::LOOK, docs::list(), session_list::list)
        .get("/sessions/{id}", Access::LOOK.of_session(), docs::show(), show)
        .patch("/sessions/{id}", Access::EXECUTE, docs::update(), update)
        .delete("/sessions/{id}", Access::OPERATE, docs::remove(), remove)
        .put("/sessions/{id}/status", Access::EXECUTE, docs::status(), set_status)
        .put("/sessions/{id}/title", Access::OPERATE, docs::rename(), rename)
        .put("/sessions/{id}/pinned", Access::OPERATE, docs::pin(), pin)
        .post("/sessions/{id}/fork", Access::OPERATE, docs::fork(), fork)
        .get(
            "/sessions/{id}/export",
            Access::LOOK.of_session(),
            docs::export(),
            session_export::export,
        )
        .put("/sessions/{id}/export", Access::OPERATE, docs::restore(), restore)
        .post("/sessions/{id}/stop", Access::OPERATE, docs::stop(), stop)
        .get("/session-origins", Access::LOOK, docs::of_origin(), of_origin)
        .get("/session-ids", Access::LOOK, docs::ids(), ids)
}

/// What is said of these routes.
mod docs {
    use ah_model::SessionId;

    use super::{Found, Items, Linked, Stopped, session_export, session_list};
    use crate::routing::{Doc, doc, params};

    pub(super) fn create() -> Doc {
        doc("Creates a session").answers::<Linked>(201).fails([404, 409, 501])
    }

    pub(super) fn list() -> Doc {
        let doc = doc("Sessions by last activity, newest first").query(params::sessions());
        let doc = doc.query(params::page()).query(params::numbered_page());
        doc.answers::<session_list::Listed>(200)
    }

    pub(super) fn show() -> Doc {
        doc("Shows a session").answers::<Linked>(200).fails([404])
    }

    pub(super) fn update() -> Doc {
        let doc = doc("Takes in what a program that works on a session says of it");
        doc.answers::<Linked>(200).fails([404])
    }

    pub(super) fn remove() -> Doc {
        doc("Removes a session with its events, tasks and runs").fails([404, 409])
    }

    pub(super) fn status() -> Doc {
        doc("Moves a session's status").answers::<Linked>(200).fails([404, 409])
    }

    pub(super) fn rename() -> Doc {
        doc("Gives a session another title").answers::<Linked>(200).fails([404])
    }

    pub(super) fn pin() -> Doc {
        doc("Keeps a session whatever retention says").answers::<Linked>(200).fails([404])
    }

    pub(super) fn fork() -> Doc {
        let doc = doc("Starts a session that goes on from a point of this one");
        doc.answers::<Linked>(201).fails([404, 409])
    }

    pub(super) fn export() -> Doc {
        let doc =
            doc("A session with its events as lines of JSON, as `ah session export` writes it");
        doc.answers_text(session_export::LINES).fails([404])
    }

    pub(super) fn restore() -> Doc {
        let doc = doc("Brings a session's row to what an export says");
        doc.answers::<Linked>(200).fails([404, 409, 501])
    }

    pub(super) fn stop() -> Doc {
        let doc = doc("Asks a session to stop").query([params::stopped()]);
        doc.answers::<Stopped>(202).fails([404, 409])
    }

    pub(super) fn of_origin() -> Doc {
        let doc = doc("Finds a session by where it came from");
        doc.query(params::origin()).answers::<Found>(200)
    }

    pub(super) fn ids() -> Doc {
        let doc = doc("The ids of sessions that begin so, at most two");
        doc.query([params::prefix()]).answers::<Items<SessionId>>(200)
    }
}

/// What a lookup found.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FoundSession")]
struct Found {
    session: Option<Linked>,
}

/// A session that is asked to stop.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Stopped {
    /// The words of the first API.
    Accepted {
        /// `accepted`.
        status: &'static str,
    },
    /// The session as it is now.
    Session(Box<Linked>),
}

/// A fork to make.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(rename = "SessionFork")]
struct ForkRequest {
    /// The last seq that belongs to both; the newest when absent.
    at_seq: Option<u64>,
    /// Id of the new session; minted when absent.
    id: Option<SessionId>,
    /// Title of the new session; the old one's when absent.
    #[schemars(length(max = SHORT_TEXT_BYTES_MAX))]
    title: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TitleChange")]
struct Title {
    /// The new title; an empty one removes it.
    #[schemars(length(max = SHORT_TEXT_BYTES_MAX))]
    title: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PinChange")]
struct Pinned {
    /// Whether it is kept.
    pinned: bool,
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(new, _share): JsonBody<NewSession, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    let session = state.call(|store| async move { store.create_session(new).await }).await?;
    created(&Linked::from(session))
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    let session = state.call(|store| async move { store.session(id).await }).await?;
    ok(&Linked::from(session))
}

async fn update(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(update, _share): JsonBody<SessionUpdate>,
) -> Answer {
    let update = state.call(|store| async move { store.update_session(id, update).await });
    ok(&Linked::from(update.await?))
}

async fn remove(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    state.call(|store| async move { store.delete_session(id).await }).await?;
    no_content()
}

async fn set_status(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(change, _share): JsonBody<StatusChange>,
) -> Answer {
    let set = state.call(|store| async move { store.set_session_status(id, change).await });
    ok(&Linked::from(set.await?))
}

async fn rename(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(Title { title }, _share): JsonBody<Title>,
) -> Answer {
    let session = state.call(|store| async move { store.rename_session(id, title).await }).await?;
    ok(&Linked::from(session))
}

async fn pin(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(Pinned { pinned }, _share): JsonBody<Pinned>,
) -> Answer {
    let pin = state.call(move |store| async move { store.pin_session(id, pinned).await });
    ok(&Linked::from(pin.await?))
}

async fn fork(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(ForkRequest { at_seq, id: new, title }, _share): JsonBody<ForkRequest>,
) -> Answer {
    let fork = SessionFork { at_seq, id: new, title };
    let session = state.call(|store| async move { store.fork_session(id, fork).await }).await?;
    created(&Linked::from(session))
}

async fn restore(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(header, _share): JsonBody<ExportHeader, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    if header.session.id != id {
        let reason = format!("{id} in the path, {} in the header", header.session.id);
        return Err(Failure::invalid("session id", reason));
    }
    let session = state.call(|store| async move { store.restore_session(header).await }).await?;
    ok(&Linked::from(session))
}

async fn of_origin(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let origin = origin(&pairs)?;
    let found = state.call(|store| async move { store.session_of_origin(origin).await }).await?;
    ok(&Found { session: found.map(Linked::from) })
}

/// Where something came from, as the query says.
pub(super) fn origin(pairs: &Pairs) -> Result<Origin, Failure> {
    Ok(Origin { source: pairs.text("source")?, external_id: pairs.text("externalId")? })
}

async fn ids(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let prefix = pairs.text("prefix")?;
    let ids = state.call(|store| async move { store.session_ids_with_prefix(prefix).await });
    ok(&Items { items: ids.await? })
}

/// Answers as the first API did; with `?return=session` with the session as it is then.
async fn stop(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    pairs: Pairs,
) -> Answer {
    let whole = match pairs.get("return") {
        None => false,
        Some("session") => true,
        Some(other) => return Err(Failure::invalid("return", format!("{other:?} is unknown"))),
    };
    let session = state.call(|store| async move { store.stop_session(id).await }).await?;
    let stopped = match whole {
        true => Stopped::Session(Box::new(session.into())),
        false => Stopped::Accepted { status: "accepted" },
    };
    answer::json(StatusCode::ACCEPTED, &stopped)
}
