//! Links: connections between executors and access points that carry streams of frames.
//!
//! A link runs over QUIC or over TLS on TCP, and looks the same over both. It knows who the peer is
//! and what bytes may cost; it knows nothing of what frames mean.
//!
//! Invariants: both sides have shown a certificate that the other's policy lets in; what a peer may
//! make this side hold is bounded ([`Limits`]); a peer that goes beyond a limit is closed with a
//! reason and nobody else notices; a half of a stream that is dropped is reset, and the other side
//! learns it.

mod close;
mod dial;
mod gate;
mod limits;
mod listener;
pub mod mux;
mod quic;
mod stream;
mod tcp;

pub use close::{Closed, REASON_BYTES_MAX, Reason, word};
pub use dial::{DialError, Dialer, Way};
pub use limits::Limits;
pub use listener::{Listener, Transports};
pub use stream::{ReceiveError, Receiver, SendError, Sender};

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use ah_model::Timestamp;
use quinn::{Connection, ConnectionError};
use rustls::pki_types::CertificateDer;
use tokio::sync::{Notify, Semaphore};

use crate::frame::Lane;
use crate::peer::{PeerId, PeerPolicy, RefusedPeer};
use gate::Member;
use tcp::Wire;

/// What a link runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// QUIC on UDP.
    Quic,
    /// TLS on TCP.
    Tcp,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Quic => "QUIC",
            Self::Tcp => "TCP",
        })
    }
}

/// Why a side cannot listen or dial at all.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The identity or the limits cannot be used.
    #[error("connections cannot be set up: {reason}")]
    Setup {
        /// What is wrong with them.
        reason: String,
    },
    /// The identity cannot be used.
    #[error("the identity cannot be used for connections")]
    Tls(#[from] rustls::Error),
    /// The address cannot be used.
    #[error("{address} cannot be used")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

/// A connection with a peer that was let in. Its copies are the same link; it is closed when the
/// last of them and of its streams is dropped.
#[derive(Debug, Clone)]
pub struct Link(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    peer: PeerId,
    remote: SocketAddr,
    carrier: Carrier,
    closed_here: OnceLock<Reason>,
    frame_within: Duration,
    /// Bytes that unfinished frames may still announce.
    budget: Semaphore,
    opened: Arc<Semaphore>,
    first: Arc<First>,
    /// Its place among the connections of a listener.
    member: Option<Member>,
}

#[derive(Debug)]
enum Carrier {
    Quic(Connection),
    Tcp(Arc<Wire>),
}

/// Whether a frame came.
#[derive(Debug, Default)]
struct First {
    came: AtomicBool,
    changed: Notify,
}

impl First {
    fn note(&self) {
        if !self.came.swap(true, Ordering::AcqRel) {
            self.changed.notify_one();
        }
    }
}

impl Link {
    fn new(peer: PeerId, carrier: Carrier, limits: &Limits, member: Option<Member>) -> Self {
        let link = Self(Arc::new(Inner {
            peer,
            remote: carrier.remote(),
            carrier,
            closed_here: OnceLock::new(),
            frame_within: limits.frame_within,
            budget: Semaphore::new(limits.frames_budget()),
            opened: Arc::new(Semaphore::new(usize::try_from(limits.opened_max).unwrap_or(0))),
            first: Arc::default(),
            member,
        }));
        if let Some(member) = &link.0.member {
            member.list(Arc::downgrade(&link.0));
        }
        link
    }

    /// Who the peer is, by its certificate.
    pub fn peer(&self) -> &PeerId {
        &self.0.peer
    }

    /// Where it came from, or was dialled.
    pub fn remote(&self) -> SocketAddr {
        self.0.remote
    }

    /// What the link runs over.
    pub fn transport(&self) -> Transport {
        match self.0.carrier {
            Carrier::Quic(_) => Transport::Quic,
            Carrier::Tcp(_) => Transport::Tcp,
        }
    }

    /// How long a packet takes there and back, where it was measured.
    pub fn rtt(&self) -> Option<Duration> {
        match &self.0.carrier {
            Carrier::Quic(connection) => Some(connection.rtt()),
            Carrier::Tcp(wire) => wire.rtt(),
        }
    }

    /// What the peer showed, its own certificate first.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.carrier.chain()
    }

    /// Whether the peer would still be let in, for a list of revocations or a policy that changed.
    pub fn check(&self, policy: &PeerPolicy, now: Timestamp) -> Result<(), RefusedPeer> {
        policy.check(&self.chain(), now).map(|_| ())
    }

    /// Opens a stream on which the peer may send the frames of these lanes. The peer learns of it
    /// with the first frame. Waits while as many are open as may be.
    pub async fn open(&self, lanes: &'static [Lane]) -> Result<(Sender, Receiver), Closed> {
        let place = tokio::select! {
            place = Arc::clone(&self.0.opened).acquire_owned() => place,
            closed = self.closed() => return Err(closed),
        };
        let place = place.map_err(|_| Closed::broken("no stream can be opened any more"))?;
        match &self.0.carrier {
            Carrier::Quic(connection) => {
                let (send, receive) =
                    connection.open_bi().await.map_err(|error| self.quic_closed(&error))?;
                Ok(stream::quic(self, send, receive, lanes, Some(Arc::new(place))))
            }
            Carrier::Tcp(wire) => {
                let number = wire.open().await?;
                Ok(stream::tcp(self, wire, number, lanes, Some(Arc::new(place))))
            }
        }
    }

    /// The next stream that the peer opened, in its order. The peer may send the frames of these
    /// lanes on it.
    pub async fn accept(&self, lanes: &'static [Lane]) -> Result<(Sender, Receiver), Closed> {
        match &self.0.carrier {
            Carrier::Quic(connection) => {
                let (send, receive) =
                    connection.accept_bi().await.map_err(|error| self.quic_closed(&error))?;
                Ok(stream::quic(self, send, receive, lanes, None))
            }
            Carrier::Tcp(wire) => {
                let number = wire.accept().await?;
                Ok(stream::tcp(self, wire, number, lanes, None))
            }
        }
    }

    /// Closes the link: all its streams are over. The first reason is the one that counts.
    pub fn close(&self, word: &str, detail: &str) {
        self.0.close(word, detail);
    }

    /// Closes the link for what a peer sent, with the word that belongs to it.
    pub fn close_for(&self, error: &ReceiveError) {
        if let Some(word) = error.word() {
            self.close(word, &error.to_string());
        }
    }

    /// Waits until the link is over, and says why.
    pub async fn closed(&self) -> Closed {
        match &self.0.carrier {
            Carrier::Quic(connection) => {
                let error = connection.closed().await;
                self.quic_closed(&error)
            }
            Carrier::Tcp(wire) => wire.closed().await,
        }
    }

    /// Why the link is over, if it is.
    pub fn why_closed(&self) -> Option<Closed> {
        match &self.0.carrier {
            Carrier::Quic(connection) => {
                connection.close_reason().map(|error| self.quic_closed(&error))
            }
            Carrier::Tcp(wire) => wire.why_closed(),
        }
    }

    fn quic_closed(&self, error: &ConnectionError) -> Closed {
        match (error, self.0.closed_here.get()) {
            (ConnectionError::LocallyClosed, Some(reason)) => Closed::Here(reason.clone()),
            (error, _) => Closed::of_quic(error),
        }
    }

    fn downgrade(&self) -> Weak<Inner> {
        Arc::downgrade(&self.0)
    }
}

impl Inner {
    fn close(&self, word: &str, detail: &str) {
        let reason = Reason::new(word, detail);
        if self.closed_here.set(reason.clone()).is_ok() {
            self.carrier.close(&reason);
            // Nobody has to wait for a frame any more.
            self.first.note();
        }
    }
}

impl Carrier {
    fn remote(&self) -> SocketAddr {
        match self {
            Self::Quic(connection) => connection.remote_address(),
            Self::Tcp(wire) => wire.remote,
        }
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        match self {
            Self::Quic(connection) => quic::chain(connection),
            Self::Tcp(wire) => wire.chain.clone(),
        }
    }

    fn close(&self, reason: &Reason) {
        match self {
            Self::Quic(connection) => {
                connection.close(quic::ERROR_CODE, reason.to_string().as_bytes());
            }
            Self::Tcp(wire) => wire.close(Closed::Here(reason.clone())),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close(word::DROPPED, "");
    }
}
