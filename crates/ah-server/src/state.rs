//! What every request sees: the store, and the bounds that requests share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ah_model::to_hex;
use ah_store::{IdSource, Store, SystemIds};
use tokio::sync::{Semaphore, watch};

use crate::limits::{BODIES_BYTES_MAX, BODY_UNIT_BYTES, CALLS_MAX};

/// The state of one server. Clones share it; it is served once, because stopping is for good.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) store: Arc<dyn Store>,
    /// One permit per call into the store.
    pub(crate) calls: Arc<Semaphore>,
    /// One permit per [`BODY_UNIT_BYTES`] of bodies held.
    pub(crate) bodies: Arc<Semaphore>,
    closing: Arc<watch::Sender<bool>>,
    requests: Arc<Requests>,
}

impl ServerState {
    /// A server of `store`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            bodies: Arc::new(Semaphore::new(BODIES_BYTES_MAX / BODY_UNIT_BYTES)),
            closing: Arc::new(watch::Sender::new(false)),
            requests: Arc::new(Requests::new(&SystemIds)),
        }
    }

    /// Tells everything that waits to end.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Waits until the server stops.
    pub(crate) async fn closing(&self) {
        // The sender lives in this state, so the wait ends only by its word.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// A request id that no other request of this or another server has.
    pub(crate) fn fresh_request_id(&self) -> String {
        self.requests.fresh()
    }
}

/// Request ids: random once, then counted, so that none costs a system call.
struct Requests {
    server: String,
    count: AtomicU64,
}

impl Requests {
    fn new(source: &dyn IdSource) -> Self {
        // Without randomness ids still count up: they are for reading logs, nothing depends on them.
        let server = source.random().map_or_else(|_| "server".to_owned(), |bytes| to_hex(&bytes));
        Self { server, count: AtomicU64::new(0) }
    }

    fn fresh(&self) -> String {
        format!("{}-{:x}", self.server, self.count.fetch_add(1, Ordering::Relaxed))
    }
}
