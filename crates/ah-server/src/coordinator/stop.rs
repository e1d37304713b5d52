//! Stopping sessions and runs. Asking again is no error.

use ah_model::{ExecutorId, Run, RunId, RunStatus, Session, SessionId, SessionStatus};
use ah_store::{Store, StoreError};
use axum::extract::State;
use serde::Serialize;

use super::detail::{Answer, Detail};
use super::given::{PathRun, PathSession};
use super::lease::{live_run, newest_run};
use super::limits::STOP_TRIES;
use super::{stop_orders, words};
use crate::answer::ok;
use crate::state::ServerState;

/// What a stop did.
#[derive(Serialize)]
struct Stopped {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    session_id: SessionId,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// The runner that was given an order of ours.
    #[serde(skip)]
    told: Option<ExecutorId>,
}

impl Stopped {
    fn session(session_id: SessionId, status: &'static str, message: String) -> Self {
        Self { ok: true, run_id: None, session_id, status, message: Some(message), told: None }
    }

    fn already(session: Session) -> Self {
        let status = words::session_status(session.status);
        let message = match session.status {
            SessionStatus::Stopping => "Session is already being stopped".to_owned(),
            _ => format!("Session already {status}"),
        };
        Self::session(session.id, status, message)
    }

    /// `run` as it is after the stop.
    fn run(run: Run) -> Self {
        let cancelled = run.started_at.is_none() && run.status == RunStatus::Stopped;
        let message = cancelled.then(|| "Run cancelled before execution".to_owned());
        let (run_id, session_id) = (Some(run.id), run.session_id);
        Self { ok: true, run_id, session_id, status: run.status.as_str(), message, told: None }
    }
}

pub(super) async fn stop_session(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
) -> Answer {
    let stopped = state.call(|store| async move { tried(&*store, id).await }).await?;
    if let Some(runner) = &stopped.told {
        // The feed does not know of such an order, so who waits for news is told here.
        state.claims.tell(runner);
    }
    Ok(ok(&stopped)?)
}

/// A session may move by itself meanwhile, so a conflict is looked at again, a few times.
async fn tried(store: &dyn Store, id: SessionId) -> Result<Stopped, StoreError> {
    let mut tries = 1;
    loop {
        match stopped(store, &id).await {
            Err(StoreError::Conflict { .. }) if tries < STOP_TRIES => tries += 1,
            answer => return answer,
        }
    }
}

async fn stopped(store: &dyn Store, id: &SessionId) -> Result<Stopped, StoreError> {
    let session = store.session(id.clone()).await?;
    if session.status == SessionStatus::Stopping {
        return Ok(Stopped::already(session));
    }
    if let Some(run) = live_run(store, id).await? {
        store.stop_session(id.clone()).await?;
        return store.run(run.id).await.map(Stopped::run);
    }
    if session.status.is_finished() {
        return Ok(Stopped::already(session));
    }
    let told = match session.status {
        SessionStatus::Idle => order_end(store, id).await?,
        _ => None,
    };
    let session = store.stop_session(id.clone()).await?;
    let status = words::session_status(session.status);
    let message = format!("No active run found - session marked as {status}");
    Ok(Stopped { told, ..Stopped::session(session.id, status, message) })
}

/// Between two turns the process may live on; the runner that ran the last turn has it.
async fn order_end(store: &dyn Store, id: &SessionId) -> Result<Option<ExecutorId>, StoreError> {
    let Some(runner) = newest_run(store, id).await?.and_then(|run| run.executor_id) else {
        return Ok(None);
    };
    match store.executor(runner.clone()).await {
        Ok(_) => stop_orders::give(store, &runner, id).await?,
        Err(StoreError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(Some(runner))
}

pub(super) async fn stop_run(State(state): State<ServerState>, PathRun(id): PathRun) -> Answer {
    let wanted = id.clone();
    let run = state.call(|store| async move { store.run(wanted).await }).await?;
    let run = match run.status {
        RunStatus::Stopping => run,
        status if status.is_live() => {
            state.call(|store| async move { store.stop_run(id).await }).await?
        }
        status => {
            let text = format!("Run cannot be stopped (status: {status})");
            return Err(Detail::text(400, text));
        }
    };
    Ok(ok(&Stopped::run(run))?)
}
