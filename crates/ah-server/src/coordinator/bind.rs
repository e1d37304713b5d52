//! Binding: an executor says where it works on a session.

use ah_model::{
    Exit, Run, RunStatus, Session, SessionId, SessionStatus, SessionUpdate, StatusChange,
};
use ah_store::{Kind, Store, StoreError};
use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::detail::Answer;
use super::given::{Given, PathSession};
use super::lease::{check_place, live_run};
use super::limits::WORK_LEASE_MS;
use super::reports::note_start;
use super::shape::SessionShape;
use crate::answer::ok;
use crate::state::ServerState;

#[derive(Deserialize)]
pub(super) struct Binding {
    executor_session_id: String,
    hostname: String,
    executor_profile: String,
    project_dir: Option<String>,
}

impl From<Binding> for SessionUpdate {
    fn from(binding: Binding) -> Self {
        Self {
            executor_session_id: Some(binding.executor_session_id),
            hostname: Some(binding.hostname),
            executor_profile: Some(binding.executor_profile),
            project_dir: binding.project_dir,
            ..Self::default()
        }
    }
}

pub(super) async fn bind(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
    Given(binding, _share): Given<Binding>,
) -> Answer {
    let bound = state.call(|store| async move { bind_session(&*store, id, binding.into()).await });
    let session = SessionShape::from(bound.await?);
    Ok(ok(&json!({ "ok": true, "session": session }))?)
}

/// An executor does not say which runner it belongs to, but where it is: the run that is held from
/// there is its own. A run that nobody holds cannot be bound: its runner has lost it.
async fn bind_session(
    store: &dyn Store,
    id: SessionId,
    update: SessionUpdate,
) -> Result<Session, StoreError> {
    let session = store.session(id).await?;
    match live_run(store, &session.id).await? {
        Some(run) if run.status == RunStatus::Pending => {
            let reason = format!("its run {} is not claimed by any runner", run.id);
            Err(StoreError::conflict(Kind::Session, session.id, reason))
        }
        Some(run) => bind_run(store, &run, update).await,
        None => bind_alone(store, session, update).await,
    }
}

async fn bind_run(
    store: &dyn Store,
    run: &Run,
    update: SessionUpdate,
) -> Result<Session, StoreError> {
    let (hostname, profile) = (update.hostname.as_deref(), update.executor_profile.as_deref());
    check_place(store, run, hostname, profile).await?;
    store.renew_run(run.lease(), WORK_LEASE_MS).await?;
    let session = store.bind_run(run.lease(), update).await?;
    note_start(store, run).await?;
    Ok(session)
}

/// A session that runs without us. One that has ended stays so.
async fn bind_alone(
    store: &dyn Store,
    session: Session,
    update: SessionUpdate,
) -> Result<Session, StoreError> {
    if session.status != SessionStatus::Running {
        let change = StatusChange { to: SessionStatus::Running, exit: Exit::default() };
        store.set_session_status(session.id.clone(), change).await?;
    }
    store.update_session(session.id, update).await
}
