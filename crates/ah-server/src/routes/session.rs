//! Sessions.

use ah_model::{
    Exit, ExportHeader, NewSession, Origin, Session, SessionId, SessionStatus, StatusChange,
};
use ah_store::{Kind, SessionFork, Store, StoreError};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use serde::Deserialize;
use serde_json::json;

use super::session_list;
use crate::answer::{self, Answer, Items, created, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::{EVENTS_BODY_BYTES_MAX, PROMPT_BODY_BYTES_MAX, STOP_TRIES};
use crate::links::Linked;
use crate::problem::Failure;
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/sessions", post(create).get(session_list::list))
        .route("/sessions/{id}", get(show).delete(remove))
        .route("/sessions/{id}/status", put(set_status))
        .route("/sessions/{id}/title", put(rename))
        .route("/sessions/{id}/pinned", put(pin))
        .route("/sessions/{id}/fork", post(fork))
        .route("/sessions/{id}/export", put(restore))
        .route("/sessions/{id}/stop", post(stop))
        .route("/session-origins", get(of_origin))
        .route("/session-ids", get(ids))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Title {
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pinned {
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
    JsonBody(fork, _share): JsonBody<SessionFork>,
) -> Answer {
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
    ok(&json!({ "session": found.map(Linked::from) }))
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

async fn stop(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    state.call(|store| async move { ask_to_stop(&*store, id).await }).await?;
    answer::json(StatusCode::ACCEPTED, &json!({ "status": "accepted" }))
}

/// Moves a session towards its end. It may move by itself meanwhile, so a conflict is looked at
/// again, a bounded number of times.
async fn ask_to_stop(store: &dyn Store, id: SessionId) -> Result<(), StoreError> {
    let mut conflict = None;
    for _ in 0..STOP_TRIES {
        let Some(to) = stop_of(&store.session(id.clone()).await?)? else {
            return Ok(());
        };
        let change = StatusChange { to, exit: Exit::default() };
        match store.set_session_status(id.clone(), change).await {
            Ok(_) => return Ok(()),
            Err(error @ StoreError::Conflict { .. }) => conflict = Some(error),
            Err(error) => return Err(error),
        }
    }
    conflict.map_or(Ok(()), Err)
}

/// Where a stop moves the session; nowhere if it is asked to stop already.
fn stop_of(session: &Session) -> Result<Option<SessionStatus>, StoreError> {
    match session.status {
        SessionStatus::Created => Ok(Some(SessionStatus::Cancelled)),
        SessionStatus::Running | SessionStatus::Idle => Ok(Some(SessionStatus::Stopping)),
        SessionStatus::Stopping => Ok(None),
        status @ (SessionStatus::Succeeded | SessionStatus::Failed | SessionStatus::Cancelled) => {
            let reason = format!("is {status} and cannot be stopped");
            Err(StoreError::conflict(Kind::Session, &session.id, reason))
        }
    }
}
