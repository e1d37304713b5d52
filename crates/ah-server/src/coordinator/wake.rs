//! A runner that waits: until there may be a run for it, or it is asked for something else.
//!
//! It stands in the same queue as executors of our own API, so a run wakes one who can take it.

use ah_model::{Run, RunClaim};
use tokio::time::{Instant, sleep_until};

use crate::claims::{Place, Told, Try, enter};
use crate::live::Interest;
use crate::problem::Failure;
use crate::state::ServerState;

/// A place in the queue of those who wait. Whoever has one misses nothing from then on.
pub(super) struct Waiting {
    place: Place,
    _interest: Interest,
}

/// Why a wait has ended.
pub(super) enum Woken {
    /// There may be a run.
    Run(Try),
    /// There may be something else.
    Told,
    /// The time is over, or the server stops.
    Over,
}

impl Waiting {
    pub(super) async fn enter(state: &ServerState, claim: &RunClaim) -> Result<Self, Failure> {
        let (place, interest) = enter(state, claim).await?;
        Ok(Self { place, _interest: interest })
    }

    pub(super) async fn wait(&self, state: &ServerState, end: Instant) -> Woken {
        tokio::select! {
            () = state.closing() => Woken::Over,
            () = sleep_until(end) => Woken::Over,
            woken = self.place.woken() => match woken {
                Ok(attempt) => Woken::Run(attempt),
                Err(Told) => Woken::Told,
            },
        }
    }
}

/// Hands the chance that somebody was woken for to another, unless this run is what came of it.
pub(super) fn settle(attempt: Option<Try>, claimed: Option<&Run>) {
    if let Some(attempt) = attempt {
        attempt.answered(claimed);
    }
}
