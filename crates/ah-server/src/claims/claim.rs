//! A claim that waits until there is a run for it.

use std::time::Duration;

use ah_model::{Executor, ExecutorId, Run, RunClaim};
use ah_store::StoreError;
use tokio::time::{Instant, sleep_until};

use super::Place;
use crate::live::Interest;
use crate::problem::Failure;
use crate::state::ServerState;

/// What a wait for a run brought.
pub(crate) enum Claimed {
    /// This run.
    Run(Box<Run>),
    /// Something else waits for the executor: a run to stop, or its own removal.
    Told,
    /// Nothing until the time was over or the server stopped.
    Nothing,
}

/// Claims a run for `claim` as soon as there is one.
pub(crate) async fn claim_within(
    state: &ServerState,
    claim: RunClaim,
    wait: Duration,
) -> Result<Claimed, Failure> {
    claim.check()?;
    if wait.is_zero() {
        return Ok(try_now(state, &claim).await?.unwrap_or(Claimed::Nothing));
    }
    let end = Instant::now() + wait;
    let (place, _interest) = enter(state, &claim).await?;
    // What was queued before the feed was followed; from here on every run wakes somebody.
    let mut claimed = try_now(state, &claim).await?;
    loop {
        if let Some(claimed) = claimed {
            return Ok(claimed);
        }
        let attempt = tokio::select! {
            () = state.closing() => return Ok(Claimed::Nothing),
            () = sleep_until(end) => return Ok(Claimed::Nothing),
            woken = place.woken() => woken,
        };
        let Ok(attempt) = attempt else {
            return Ok(Claimed::Told);
        };
        claimed = try_now(state, &claim).await?;
        attempt.answered(claimed.as_ref().and_then(Claimed::run));
    }
}

/// Puts somebody behind those who wait. What is queued from then on wakes it, if it may take it by
/// what is kept of its executor.
pub(crate) async fn enter(
    state: &ServerState,
    claim: &RunClaim,
) -> Result<(Place, Interest), Failure> {
    let (place, interest) = (state.claims.enter(claim), state.want_news());
    state.followed().await?;
    place.know(known(state, &claim.executor_id).await?);
    Ok((place, interest))
}

/// What is kept of an executor; one that only claims need not be known.
async fn known(state: &ServerState, id: &ExecutorId) -> Result<Option<Executor>, Failure> {
    let id = id.clone();
    let found = state.call(|store| async move {
        match store.executor(id).await {
            Err(StoreError::NotFound { .. }) => Ok(None),
            found => found.map(Some),
        }
    });
    found.await
}

impl Claimed {
    fn run(&self) -> Option<&Run> {
        match self {
            Self::Run(run) => Some(run),
            Self::Told | Self::Nothing => None,
        }
    }
}

/// One try. The server looks at its connections first: a request whose client has gone ends there.
async fn try_now(state: &ServerState, claim: &RunClaim) -> Result<Option<Claimed>, Failure> {
    tokio::task::yield_now().await;
    let claim = claim.clone();
    let run = state.call(|store| async move { store.claim_run(claim).await });
    Ok(run.await?.map(|run| Claimed::Run(Box::new(run))))
}
