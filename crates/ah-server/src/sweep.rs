//! What time decides about runs: leases that are over, runs that nobody took, parents to be told.
//!
//! A server that was away begins late: executors that could not reach it renew first, so that none
//! of them is lost for the server's own absence. Several servers of one store may sweep at once.

use std::time::Duration;

use ah_model::Swept;
use tokio::time::sleep;

use crate::limits::SWEEP_EVERY;
use crate::state::ServerState;

/// Sweeps until the server stops, for the first time after `grace`.
pub(crate) async fn sweep(state: ServerState, grace: Duration) {
    let work = async {
        sleep(grace).await;
        loop {
            // A store that fails is asked again in a second; whoever works with it hears of it.
            match state.call(|store| async move { store.sweep_runs().await }).await {
                Ok(swept) if swept != Swept::default() => tokio::task::yield_now().await,
                Ok(_) | Err(_) => sleep(SWEEP_EVERY).await,
            }
        }
    };
    tokio::select! {
        () = state.closing() => {}
        () = work => {}
    }
}
