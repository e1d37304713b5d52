//! The server's side of calls: what its socket does with one, and bringing in those that could not
//! be handed over.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use ah_import::{HookCall, HookFate, record_hooks};
use ah_server::HookDesk;
use ah_store::{Store, block_on};

use super::spool::Spool;
use crate::detect::fingerprint::HOOK_PATIENCE;
use crate::environment::Environment;
use crate::whereabouts::{self, Looking};

/// How often it is looked whether calls wait in files.
const LOOK: Duration = Duration::from_secs(1);

/// Records the calls that hooks hand over.
pub(crate) fn desk() -> HookDesk {
    Arc::new(|store, call| Box::pin(take(store, call)))
}

/// Records one call; the answer says what became of it, once it is durable.
async fn take(store: Arc<dyn Store>, call: Vec<u8>) -> Vec<u8> {
    let fate = match serde_json::from_slice::<HookCall>(&call) {
        Ok(call) => {
            let looking = Looking::Records(HOOK_PATIENCE);
            let repo_of = |dir: &Path| whereabouts::repo_of(&*store, dir, looking);
            record_hooks(&*store, &[call], &repo_of).await.into_iter().next()
        }
        Err(error) => Some(HookFate::Refused(error.to_string())),
    };
    // A fate is plain text.
    serde_json::to_vec(&fate).unwrap_or_default()
}

/// A thread that brings in the calls that wait in files, until it is ended.
pub(crate) struct Drainer {
    stop: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Drainer {
    /// Begins at once: a machine that was cut off may have left some.
    pub(crate) fn start(environment: &Environment, store: Arc<dyn Store>) -> io::Result<Self> {
        let spool = Spool::of(environment);
        let (stop, stopped) = sync_channel(1);
        let drain = move || {
            loop {
                if !spool.is_empty() {
                    let looking = Looking::Records(HOOK_PATIENCE);
                    let repo_of = |dir: &Path| whereabouts::repo_of(&*store, dir, looking);
                    // What is left is tried again.
                    spool.drain(|calls| block_on(record_hooks(&*store, calls, &repo_of)));
                }
                match stopped.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread = Builder::new().name("ah-spool".to_owned()).spawn(drain)?;
        Ok(Self { stop, thread })
    }

    /// Ends it when it has done what it is at.
    pub(crate) fn end(self) {
        drop(self.stop);
        let _ = self.thread.join();
    }
}
