//! Wakes readers that wait at the end of a log. It carries no events: a woken reader asks the
//! store, so a slow one loses nothing.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Clone)]
pub(crate) struct Hub(Arc<watch::Sender<u64>>);

impl Hub {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Something was committed.
    pub(crate) fn wake(&self) {
        self.0.send_modify(|generation| *generation = generation.wrapping_add(1));
    }

    /// Whether anybody waits.
    pub(crate) fn is_watched(&self) -> bool {
        self.0.receiver_count() > 0
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
