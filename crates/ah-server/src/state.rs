//! What every request sees: the store, and the bounds that requests share.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ah_hive::Host;
use ah_model::{ExecutorPresence, RequestKey, to_hex};
use ah_store::{IdSource, Store, SystemIds};
use axum::body::Bytes;
use tokio::sync::{Semaphore, watch};

use crate::auth::VerifiedTokens;
use crate::claims::Claims;
use crate::limits::{BODIES_BYTES_MAX, BODY_UNIT_BYTES, CALLS_MAX, SWEEP_GRACE};
use crate::live::Live;
use crate::mcp;
use crate::metrics::Metrics;
use crate::options::{
    DispatchAnswer, DispatchOrder, DispatchSource, PresenceSource, ServerOptions,
};

/// The state of one server. Clones share it; it is served once, because stopping is for good.
///
/// Every request clones it some times, so that it is few pointers.
#[derive(Clone)]
pub struct ServerState {
    pub(crate) store: Arc<dyn Store>,
    sweep_grace: Option<Duration>,
    shared: Arc<Shared>,
}

/// What all requests of a server share.
pub struct Shared {
    /// One permit per call into the store.
    pub(crate) calls: Arc<Semaphore>,
    /// One permit per [`BODY_UNIT_BYTES`] of bodies held.
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) options: ServerOptions,
    pub(crate) metrics: Metrics,
    pub(crate) auth: Arc<VerifiedTokens>,
    /// The description of the interface, once somebody asked for it.
    pub(crate) openapi: OnceLock<Bytes>,
    /// Who wants news.
    pub(crate) live: Arc<Live>,
    /// Who waits for a run.
    pub(crate) claims: Arc<Claims>,
    /// Who is asked for executors that are connected, if this process lets any in.
    presence: OnceLock<PresenceSource>,
    /// Who has programs started beside runs, likewise.
    dispatch: OnceLock<DispatchSource>,
    /// What callers of MCP share.
    pub(crate) mcp: mcp::Shared,
    closing: watch::Sender<bool>,
    requests: Requests,
}

impl Deref for ServerState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl ServerState {
    /// A server of `store` for programs of this machine, which asks nobody for a token.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self::with_options(store, ServerOptions::default())
    }

    /// A server of `store` that is run as `options` say.
    pub fn with_options(store: Arc<dyn Store>, options: ServerOptions) -> Self {
        let shared = Shared {
            calls: Arc::new(Semaphore::new(CALLS_MAX)),
            bodies: Arc::new(Semaphore::new(BODIES_BYTES_MAX / BODY_UNIT_BYTES)),
            options,
            metrics: Metrics::default(),
            auth: Arc::default(),
            openapi: OnceLock::new(),
            live: Arc::new(Live::new()),
            claims: Arc::default(),
            presence: OnceLock::new(),
            dispatch: OnceLock::new(),
            mcp: mcp::Shared::default(),
            closing: watch::Sender::new(false),
            requests: Requests::new(&SystemIds),
        };
        Self { store, sweep_grace: Some(SWEEP_GRACE), shared: Arc::new(shared) }
    }

    /// The same for one request of that key: what it does in the store is done once.
    pub(crate) fn keyed(self, key: RequestKey) -> Self {
        Self { store: Arc::from(self.store.keyed(key)), ..self }
    }

    /// What this machine does for agents, within this request.
    pub(crate) fn host(&self) -> Host {
        let host = Host::new(Arc::clone(&self.store), self.options.homes.clone());
        host.with_clock(Arc::clone(&self.options.clock))
    }

    /// The same, sweeping runs and removing what is too old only after that long: executors that a
    /// restart cut off renew first. Without a time it does nothing by itself, for stores that somebody
    /// else looks after.
    #[must_use]
    pub fn sweeping_after(self, grace: Option<Duration>) -> Self {
        Self { sweep_grace: grace, ..self }
    }

    /// Takes the directory of the sockets before anything is served, so that a second server of the
    /// same place is refused (`AddrInUse`) before it has said or done anything.
    pub fn take_sockets(&self) -> std::io::Result<()> {
        #[cfg(unix)]
        if let Some(dir) = &self.options.sockets {
            self.mcp.take(dir)?;
        }
        Ok(())
    }

    /// From here on `source` is asked which executors are connected; who is asked first stays it.
    pub fn ask_for_presence(&self, source: PresenceSource) {
        // Executors come in at one place of a process.
        let _ = self.presence.set(source);
    }

    /// From here on `source` has programs started beside runs; who is asked first stays it.
    pub fn dispatch_through(&self, source: DispatchSource) {
        let _ = self.dispatch.set(source);
    }

    /// Has a program started beside a run.
    pub(crate) async fn dispatched(&self, order: DispatchOrder) -> DispatchAnswer {
        match self.dispatch.get() {
            Some(source) => source(order).await,
            None => DispatchAnswer::NotHere,
        }
    }

    /// The executors that are connected to this process.
    pub(crate) async fn present(&self) -> Vec<ExecutorPresence> {
        match self.presence.get() {
            Some(source) => source().await,
            None => Vec::new(),
        }
    }

    pub(crate) fn sweep_grace(&self) -> Option<Duration> {
        self.sweep_grace
    }

    /// Tells everything that waits to end.
    pub(crate) fn close(&self) {
        self.live.close();
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
