//! An access point on a port of its own, and an executor that dials it.

use std::sync::Arc;

use ah_access::link::{Dialer, Limits, Link, Listener, Transports, Way};
use ah_access::peer::PeerSide;
use ah_access::tls::Terms;

use crate::given::{Ca, Leaf, Side, TestClock};

/// Both sides, of one authority.
pub(super) struct Place {
    pub(super) ca: Ca,
    pub(super) clock: Arc<TestClock>,
    pub(super) listener: Listener,
    pub(super) dialer: Dialer,
    pub(super) executor: Arc<Terms>,
}

impl Place {
    pub(super) fn new() -> Self {
        Self::with(Limits::listener(), Limits::dialer())
    }

    pub(super) fn with(listening: Limits, dialling: Limits) -> Self {
        Self::on(Transports::Both, listening, dialling)
    }

    pub(super) fn on(transports: Transports, listening: Limits, dialling: Limits) -> Self {
        let (ca, clock) = (Ca::new(), TestClock::new());
        let server = terms(&ca, &Leaf::server(), &clock);
        let executor = terms(&ca, &Leaf::executor(), &clock);
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(address, transports, server, listening).unwrap();
        Self { ca, clock, listener, dialer: Dialer::new(dialling), executor }
    }

    pub(super) fn host(&self) -> String {
        self.listener.address().to_string()
    }

    /// The link as the access point has it, and as the executor has it.
    pub(super) async fn meet(&self, way: Way) -> (Link, Link) {
        self.meet_as(way, &self.executor).await
    }

    pub(super) async fn meet_as(&self, way: Way, executor: &Terms) -> (Link, Link) {
        let host = self.host();
        let dialled = self.dialer.dial(&host, way, executor);
        let (accepted, dialled) = tokio::join!(self.listener.accept(), dialled);
        (accepted.unwrap(), dialled.unwrap())
    }
}

/// What the holder of such a certificate brings.
pub(crate) fn terms(ca: &Ca, leaf: &Leaf, clock: &Arc<TestClock>) -> Arc<Terms> {
    let lets_in = match leaf.side {
        PeerSide::Executor => PeerSide::Server,
        PeerSide::Server => PeerSide::Executor,
    };
    Arc::new(Side::new(ca.unchecked(leaf), ca.policy(lets_in), Arc::clone(clock)).terms)
}
