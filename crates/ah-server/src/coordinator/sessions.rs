//! Sessions: listed, shown, described, deleted.

use ah_model::{
    PageLimit, PageRequest, RunFilter, Session, SessionFilter, SessionId, SessionStatus,
    SessionUpdate,
};
use ah_store::{Store, StoreError};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::detail::{Answer, Detail};
use super::given::{Given, PathSession};
use super::limits::SESSIONS_MAX;
use super::shape::SessionShape;
use super::words;
use crate::answer::ok;
use crate::problem::Failure;
use crate::state::ServerState;

pub(super) async fn list(State(state): State<ServerState>) -> Answer {
    let every = SessionFilter::default();
    let sessions =
        state.call(|store| async move { newest(&*store, every, SESSIONS_MAX).await }).await?;
    Ok(ok(&Sessions::from(sessions))?)
}

/// Sessions as a list holds them.
#[derive(Serialize)]
pub(super) struct Sessions {
    sessions: Vec<SessionShape>,
}

impl From<Vec<Session>> for Sessions {
    fn from(sessions: Vec<Session>) -> Self {
        Self { sessions: sessions.into_iter().map(SessionShape::from).collect() }
    }
}

/// Sessions, the newest first. Of more than `max` those that were active last.
pub(super) async fn newest(
    store: &dyn Store,
    filter: SessionFilter,
    max: usize,
) -> Result<Vec<Session>, StoreError> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let found = store.list_sessions(filter.clone(), page.clone()).await?;
        sessions.extend(found.items);
        page.cursor = found.next_cursor;
        if page.cursor.is_none() || sessions.len() >= max {
            break;
        }
    }
    sessions.truncate(max);
    sessions.sort_by(|a, b| b.created_at.cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
    Ok(sessions)
}

pub(super) async fn show(State(state): State<ServerState>, PathSession(id): PathSession) -> Answer {
    let session = find(&state, id).await?;
    Ok(ok(&json!({ "session": SessionShape::from(session) }))?)
}

async fn find(state: &ServerState, id: SessionId) -> Result<Session, Failure> {
    state.call(|store| async move { store.session(id).await }).await
}

/// Says of every id where its session stands, also of one that has none.
pub(super) async fn status(
    State(state): State<ServerState>,
    id: Result<PathSession, Detail>,
) -> Answer {
    let status = match id {
        Err(_) => words::NOT_EXISTENT,
        Ok(PathSession(id)) => match find(&state, id).await {
            Ok(session) => words::session_status(session.status),
            Err(failure) if failure.problem().status == 404 => words::NOT_EXISTENT,
            Err(failure) => return Err(failure.into()),
        },
    };
    Ok(ok(&json!({ "status": status }))?)
}

pub(super) async fn affinity(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
) -> Answer {
    let Session { id, details, .. } = find(&state, id).await?;
    let affinity = json!({
        "session_id": id,
        "hostname": details.hostname,
        "project_dir": details.project_dir,
        "executor_profile": details.executor_profile,
        "executor_session_id": details.executor_session_id,
    });
    Ok(ok(&json!({ "affinity": affinity }))?)
}

/// What a program says of a session; what is absent or null stays.
#[derive(Deserialize)]
pub(super) struct Metadata {
    project_dir: Option<String>,
    agent_name: Option<String>,
    last_resumed_at: Option<String>,
    executor_session_id: Option<String>,
    executor_profile: Option<String>,
    hostname: Option<String>,
}

impl Metadata {
    fn into_update(self) -> Result<SessionUpdate, Detail> {
        let read = |text: String| {
            let wrong = || format!("{text:?} is not a time");
            let place = ["body", "last_resumed_at"];
            words::read_time(&text).ok_or_else(|| Detail::invalid(&place, "value_error", wrong()))
        };
        let agent = self.agent_name.map(|name| words::agent_kind(Some(&name))).transpose()?;
        Ok(SessionUpdate {
            project_dir: self.project_dir,
            agent,
            last_resumed_at: self.last_resumed_at.map(read).transpose()?,
            executor_session_id: self.executor_session_id,
            executor_profile: self.executor_profile,
            hostname: self.hostname,
            ..SessionUpdate::default()
        })
    }
}

pub(super) async fn update(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
    Given(metadata, _share): Given<Metadata>,
) -> Answer {
    let update = metadata.into_update()?;
    let session = state.call(move |store| async move {
        match update == SessionUpdate::default() {
            true => store.session(id).await,
            false => store.update_session(id, update).await,
        }
    });
    let session = SessionShape::from(session.await?);
    Ok(ok(&json!({ "ok": true, "session": session }))?)
}

pub(super) async fn remove(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
) -> Answer {
    let session = find(&state, id.clone()).await?;
    let status = words::session_status(session.status);
    if matches!(session.status, SessionStatus::Running | SessionStatus::Idle) {
        let text = format!("Cannot delete session in '{status}' state. Stop session first.");
        return Err(Detail::text(409, text));
    }
    let session_id = id.clone();
    let runs = state.call(move |store| async move {
        let runs = count_runs(&*store, id.clone()).await?;
        store.delete_session(id).await?;
        Ok(runs)
    });
    let runs = runs.await?;
    let deleted = json!({ "session": true, "events_count": session.last_seq, "runs_count": runs });
    Ok(ok(&json!({
        "ok": true,
        "session_id": session_id,
        "deleted": deleted,
        "runs_removed_from_cache": runs,
    }))?)
}

async fn count_runs(store: &dyn Store, session: SessionId) -> Result<usize, StoreError> {
    let filter = RunFilter { session_id: Some(session), ..RunFilter::default() };
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut count = 0;
    loop {
        let runs = store.list_runs(filter.clone(), page.clone()).await?;
        count += runs.items.len();
        page.cursor = runs.next_cursor;
        if page.cursor.is_none() {
            return Ok(count);
        }
    }
}
