//! The long poll of a runner: told to go, to stop something, or given a run.

use std::time::Duration;

use ah_model::{Executor, ExecutorId, RawJson, Run, RunClaim, RunId, SessionId};
use ah_store::{Store, StoreError};
use axum::extract::State;
use serde::Serialize;
use tokio::time::Instant;

use super::blueprint::{self, Members};
use super::detail::{Answer, Detail};
use super::given::Asked;
use super::limits::{CLAIM_LEASE_MS, POLL_SECONDS};
use super::shape::RunShape;
use super::wake::{Waiting, Woken, settle};
use super::{lease, runners, stop_orders};
use crate::answer::{no_content, ok};
use crate::claims::Try;
use crate::problem::Failure;
use crate::state::ServerState;

/// What a runner is told, in this order of importance. Stops are told in both dialects at once.
#[derive(Serialize)]
#[serde(untagged)]
enum News {
    Deregistered { deregistered: bool },
    Stops { stop_runs: Vec<RunId>, stop_sessions: Vec<SessionId> },
    Run { run: Box<HandedRun> },
}

/// A run with all that its runner needs.
#[derive(Serialize)]
struct HandedRun {
    #[serde(flatten)]
    run: RunShape,
    scope: Option<RawJson>,
    resolved_agent_blueprint: Option<Members>,
}

pub(super) async fn poll(State(state): State<ServerState>, asked: Asked) -> Answer {
    let Some(runner) = asked.0.get("runner_id") else {
        return Err(Detail::invalid(&["query", "runner_id"], "missing", "Field required"));
    };
    let runner = runners::runner(runner)?;
    let seconds = asked.number("wait")?.unwrap_or(POLL_SECONDS).min(POLL_SECONDS);
    let end = Instant::now() + Duration::from_secs(seconds);
    let now = state.options.clock.now();
    let executor =
        state.call(move |store| async move { lease::seen(&*store, runner, now).await }).await?;
    match news_until(&state, executor, end).await? {
        Some(news) => Ok(ok(&news)?),
        None => Ok(no_content()?),
    }
}

/// The first news for `executor`. It takes its place among those who wait before it looks, so that
/// nothing falls between.
async fn news_until(
    state: &ServerState,
    executor: Executor,
    end: Instant,
) -> Result<Option<News>, Failure> {
    let claim = RunClaim {
        executor_id: executor.id,
        offer: executor.offer,
        lease_ms: CLAIM_LEASE_MS,
        run_id: None,
    };
    'again: loop {
        let waiting = Waiting::enter(state, &claim).await?;
        let mut attempt = None;
        loop {
            let found = look(state, &claim, attempt).await?;
            if found.is_some() {
                return Ok(found);
            }
            attempt = match waiting.wait(state, end).await {
                Woken::Run(attempt) => Some(attempt),
                Woken::Told => continue 'again,
                Woken::Over => return Ok(None),
            };
        }
    }
}

/// Asks the store for news. The server looks at its connections first: a request whose client has
/// gone ends there. One that goes at that very moment may be given a run that reaches nobody; it is
/// queued again when its lease is over.
async fn look(
    state: &ServerState,
    claim: &RunClaim,
    attempt: Option<Try>,
) -> Result<Option<News>, Failure> {
    tokio::task::yield_now().await;
    let wanted = claim.clone();
    let order = state.call(|store| async move { order(&*store, wanted.executor_id).await }).await?;
    if order.is_some() {
        return Ok(order);
    }
    let wanted = claim.clone();
    let run = state.call(|store| async move { store.claim_run(wanted).await }).await?;
    settle(attempt, run.as_ref());
    let Some(run) = run else { return Ok(None) };
    let run = state.call(|store| async move { handed(&*store, run).await }).await?;
    Ok(Some(News::Run { run: Box::new(run) }))
}

/// What the runner is asked for other than a run.
async fn order(store: &dyn Store, runner: ExecutorId) -> Result<Option<News>, StoreError> {
    let executor = store.executor(runner).await?;
    if executor.removal_requested_at.is_some() {
        runners::part(store, executor.id).await?;
        return Ok(Some(News::Deregistered { deregistered: true }));
    }
    let runs = store.stop_orders(executor.id.clone()).await?;
    let mut stop_sessions = stop_orders::take(store, &executor.id).await?;
    let (stop_runs, of_runs): (Vec<RunId>, Vec<SessionId>) =
        runs.into_iter().map(|run| (run.id, run.session_id)).unzip();
    stop_sessions.extend(of_runs);
    let some = !stop_sessions.is_empty();
    Ok(some.then_some(News::Stops { stop_runs, stop_sessions }))
}

async fn handed(store: &dyn Store, run: Run) -> Result<HandedRun, StoreError> {
    let session = store.session(run.session_id.clone()).await?;
    let (run, scope) = RunShape::with_scope(run, &session);
    let found = match &run.agent_name {
        Some(name) => blueprint::find(store, name).await?,
        None => None,
    };
    let resolved_agent_blueprint = found.map(|blueprint| blueprint.shape());
    Ok(HandedRun { run, scope, resolved_agent_blueprint })
}
