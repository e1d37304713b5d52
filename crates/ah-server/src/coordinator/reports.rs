//! What runners report of their runs. Who does not hold a run reports nothing of it; saying the
//! same again is no change.

use std::future::Future;
use std::sync::Arc;

use ah_model::{
    ExecutorId, Exit, NewEvent, RawJson, Run, RunEnd, RunId, RunOutcome, RunStatus, SessionId,
    SessionStatus, StatusChange,
};
use ah_store::{Kind, Store, StoreError};
use axum::extract::State;
use serde::Deserialize;
use serde_json::json;

use super::detail::{Answer, Detail};
use super::given::{Given, PathRun, PathSession};
use super::lease::{self, begin, held, live_run, newest_run};
use super::limits::REPORT_TEXT_BYTES_MAX;
use super::runners::{RunnerId, runner};
use super::{results, stop_orders, words};
use crate::answer::ok;
use crate::state::ServerState;

/// The event that says that a run began.
pub(super) const RUN_START: &str = "run_start";
/// The event that says that a run ended well.
pub(super) const RUN_COMPLETED: &str = "run_completed";

/// Takes in what `runner` says, if it is registered; that it says something is a sign of life.
async fn report<F>(
    state: &ServerState,
    runner_id: &str,
    work: impl FnOnce(Arc<dyn Store>, ExecutorId) -> F + Send + 'static,
) -> Answer
where
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let (runner, now) = (runner(runner_id)?, state.options.clock.now());
    let done = state.call(move |store| async move {
        lease::seen(&*store, runner.clone(), now).await?;
        work(store, runner).await
    });
    done.await?;
    Ok(ok(&json!({ "ok": true }))?)
}

pub(super) async fn started(
    State(state): State<ServerState>,
    PathRun(id): PathRun,
    Given(RunnerId { runner_id }, _share): Given<RunnerId>,
) -> Answer {
    let work = |store: Arc<dyn Store>, runner| async move {
        let run = held(&*store, id, &runner).await?;
        let run = begin(&*store, &run).await?;
        note_start(&*store, &run).await.map(drop)
    };
    report(&state, &runner_id, work).await
}

/// Records in the session that `run` began, once for each time that it was handed out; where that
/// stands.
pub(super) async fn note_start(store: &dyn Store, run: &Run) -> Result<u64, StoreError> {
    let key = format!("{RUN_START} {} {}", run.id, run.lease_epoch);
    let event = event(RUN_START, RawJson::empty_object(), key);
    Ok(store.append_to_run(run.lease(), vec![event]).await?.first_seq)
}

fn event(kind: &str, data: RawJson, key: String) -> NewEvent {
    NewEvent { kind: kind.to_owned(), data, dedup_key: Some(key), ts: None }
}

/// How a session goes on after a run of it.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum After {
    Idle,
    Finished,
}

#[derive(Deserialize)]
pub(super) struct Completed {
    runner_id: String,
    session_status: Option<After>,
}

pub(super) async fn completed(
    State(state): State<ServerState>,
    PathRun(id): PathRun,
    Given(completed, _share): Given<Completed>,
) -> Answer {
    let idle = matches!(completed.session_status, Some(After::Idle));
    let exit = Exit { code: Some(0), ..Exit::default() };
    let end = RunEnd { idle, exit, ..RunEnd::new(RunOutcome::Completed) };
    let work = |store: Arc<dyn Store>, runner| async move {
        let run = held(&*store, id, &runner).await?;
        end_run(&*store, &run, end).await.map(drop)
    };
    report(&state, &completed.runner_id, work).await
}

/// Ends `run` well, with what it gave back, and records that in the session.
pub(super) async fn end_run(store: &dyn Store, run: &Run, end: RunEnd) -> Result<Run, StoreError> {
    let result = match run.status.is_live() {
        true => results::of_run(store, &run.session_id).await?,
        false => None,
    };
    let ended = store.finish_run(run.lease(), RunEnd { result, ..end }).await?;
    let data = RawJson::of(&json!({ "exit_code": 0 }))?;
    let done = event(RUN_COMPLETED, data, format!("{RUN_COMPLETED} {}", run.id));
    store.append_events(run.session_id.clone(), vec![done]).await?;
    Ok(ended)
}

#[derive(Deserialize)]
pub(super) struct Failed {
    runner_id: String,
    error: String,
}

pub(super) async fn failed(
    State(state): State<ServerState>,
    PathRun(id): PathRun,
    Given(failed, _share): Given<Failed>,
) -> Answer {
    let end = RunEnd::failed(words::fitting(&failed.error, REPORT_TEXT_BYTES_MAX));
    end_as(&state, id, &failed.runner_id, end).await
}

#[derive(Deserialize)]
pub(super) struct WasStopped {
    runner_id: String,
    signal: Option<String>,
}

pub(super) async fn stopped(
    State(state): State<ServerState>,
    PathRun(id): PathRun,
    Given(stopped, _share): Given<WasStopped>,
) -> Answer {
    let signal = stopped.signal.as_deref().unwrap_or("SIGTERM");
    let reason = Some(words::fitting(signal, REPORT_TEXT_BYTES_MAX / 32));
    let exit = Exit { code: None, signal: words::signal(signal), reason };
    let error = Some("Session was manually stopped".to_owned());
    let end = RunEnd { error, exit, ..RunEnd::new(RunOutcome::Stopped) };
    end_as(&state, id, &stopped.runner_id, end).await
}

async fn end_as(state: &ServerState, id: RunId, runner_id: &str, end: RunEnd) -> Answer {
    let work = |store: Arc<dyn Store>, runner| async move {
        let run = held(&*store, id, &runner).await?;
        store.finish_run(run.lease(), end).await.map(drop)
    };
    report(state, runner_id, work).await
}

#[derive(Deserialize)]
pub(super) struct ProcessEnded {
    runner_id: String,
    status: String,
}

/// A process ended by itself, between two turns of its session as a rule.
pub(super) async fn session_status(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
    Given(ended, _share): Given<ProcessEnded>,
) -> Answer {
    runner(&ended.runner_id)?;
    let outcome = match ended.status.as_str() {
        "finished" => RunOutcome::Completed,
        "failed" => RunOutcome::Failed,
        "stopped" => RunOutcome::Stopped,
        other => {
            let text =
                format!("Invalid status: {other}. Must be one of: finished, failed, stopped");
            return Err(Detail::text(400, text));
        }
    };
    let work = move |store: Arc<dyn Store>, runner: ExecutorId| async move {
        end_session(&*store, id, &runner, outcome).await
    };
    report(&state, &ended.runner_id, work).await
}

async fn end_session(
    store: &dyn Store,
    id: SessionId,
    runner: &ExecutorId,
    outcome: RunOutcome,
) -> Result<(), StoreError> {
    let session = store.session(id.clone()).await?;
    let newest = newest_run(store, &id).await?;
    let ran = newest.is_some_and(|run| run.executor_id.as_ref() == Some(runner));
    if !ran {
        let reason = format!("was not last run by runner {runner}");
        return Err(StoreError::conflict(Kind::Session, id, reason));
    }
    stop_orders::done(store, runner, &id).await?;
    let end = RunEnd::new(outcome);
    if let Some(run) = live_run(store, &id).await?.filter(|run| run.status != RunStatus::Pending) {
        return match outcome {
            RunOutcome::Completed => end_run(store, &run, end).await.map(drop),
            _ => store.finish_run(run.lease(), end).await.map(drop),
        };
    }
    if session.status.is_finished() {
        // It was over before its process was.
        return Ok(());
    }
    let change = StatusChange { to: ended(outcome), exit: Exit::default() };
    store.set_session_status(id, change).await.map(drop)
}

fn ended(outcome: RunOutcome) -> SessionStatus {
    RunEnd::new(outcome).session_status()
}
