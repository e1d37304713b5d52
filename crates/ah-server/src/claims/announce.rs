//! From the feed to those who wait: runs are queued, stops and removals are asked for.

use ah_model::{Change, ChangeKind, FeedEntry, Happening, RunId};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::limits::ANNOUNCED_RUNS_MAX;
use crate::state::ServerState;

/// Tells those who wait for a run what the feed says. The feed names a run without its demands, so
/// runs are read first, by a task that ends with this.
pub(crate) struct Announcer(Sender<RunId>);

impl Announcer {
    pub(crate) fn start(state: &ServerState) -> Self {
        let (queued, runs) = channel(ANNOUNCED_RUNS_MAX);
        tokio::spawn(announce(state.clone(), runs));
        Self(queued)
    }

    /// Passes on what of `entries` somebody may wait for.
    pub(crate) fn announce(&self, entries: &[FeedEntry], state: &ServerState) {
        if state.claims.is_empty() {
            return;
        }
        for entry in entries {
            if let Happening::Change(change) = &entry.happening {
                self.change(change, state);
            }
        }
    }

    fn change(&self, change: &Change, state: &ServerState) {
        match (change.kind, &change.run_id, &change.executor_id) {
            (ChangeKind::RunQueued, Some(run), _) => {
                // More than can be told one by one: everybody looks.
                if let Err(TrySendError::Full(_)) = self.0.try_send(run.clone()) {
                    state.claims.wake_all();
                }
            }
            (ChangeKind::RunStopping | ChangeKind::ExecutorUpdated, _, Some(executor)) => {
                state.claims.tell(executor);
            }
            _ => {}
        }
    }
}

async fn announce(state: ServerState, mut runs: Receiver<RunId>) {
    while let Some(id) = runs.recv().await {
        if state.claims.is_empty() {
            continue;
        }
        // One that cannot be read may still be there; one that has gone wakes nobody in vain.
        match state.call(move |store| async move { store.run(id).await }).await {
            Ok(run) => state.claims.queued(&run),
            Err(failure) if failure.problem().status == 404 => {}
            Err(_) => state.claims.wake_all(),
        }
    }
}
