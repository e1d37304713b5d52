//! A claim that waits until there is a run for it.

use std::time::Duration;

use ah_model::{Run, RunClaim};
use tokio::time::{Instant, sleep_until};

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
    let place = state.claims.enter(&claim);
    let _interest = state.want_news();
    state.followed().await?;
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
