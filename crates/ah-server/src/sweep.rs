//! What time decides: leases of runs and messages that are over, runs that nobody took, parents to be
//! told, fences that are over, leaders that were lost, questions that nobody answered.
//!
//! A server that was away begins with runs late: executors that could not reach it renew first, so
//! that none of them is lost for the server's own absence. Messages and questions are swept at once,
//! because whoever reads one sweeps as well. Several servers of one store may sweep at once.

use std::time::Duration;

use ah_model::Swept;
use ah_store::StoreError;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::limits::SWEEP_EVERY;
use crate::state::ServerState;

/// Sweeps runs, then fleets, whose leaders may just have been lost, until the server stops, for the first time after `grace`.
pub(crate) async fn sweep_runs(state: ServerState, grace: Duration) {
    let work = async {
        sleep(grace).await;
        loop {
            // A store that fails is asked again in a second; whoever works with it hears of it.
            let sweep = state.call(|store| async move {
                let runs = store.sweep_runs().await? != Swept::default();
                let fleets = !store.sweep_fleets().await?.is_empty();
                Ok::<_, StoreError>(runs || fleets)
            });
            match sweep.await {
                Ok(true) => yield_now().await,
                Ok(false) | Err(_) => sleep(SWEEP_EVERY).await,
            }
        }
    };
    state.until_closing(work).await;
}

/// Sweeps messages and questions until the server stops.
pub(crate) async fn sweep_hive(state: ServerState) {
    let work = async {
        loop {
            match state.call(|store| async move { store.sweep_hive().await }).await {
                Ok(swept) if !swept.is_empty() => {
                    state.metrics.jobs.swept(swept);
                    yield_now().await;
                }
                Ok(_) | Err(_) => sleep(SWEEP_EVERY).await,
            }
        }
    };
    state.until_closing(work).await;
}
