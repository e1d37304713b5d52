//! The side that dials: QUIC first, TLS on TCP where that does not go through.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn::{ConnectionError, Endpoint};
use rustls::Error as TlsError;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::close::alert;
use super::mux::Side;
use super::tcp::{Wire, of_io, speaks_ours, tls_error};
use super::{Carrier, Closed, Limits, Link, LinkError, Transport, quic, word};
use crate::peer::RefusedPeer;
use crate::tls::{Terms, client_config};

/// How long the last words to a peer may take.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(3);

/// How long QUIC has before TCP is tried.
const QUIC_WITHIN: Duration = Duration::from_secs(3);

/// What to dial over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// QUIC, and TLS on TCP where nobody answers to that.
    QuicThenTcp,
    /// QUIC only.
    Quic,
    /// TLS on TCP only.
    Tcp,
}

impl Way {
    fn transports(self) -> &'static [Transport] {
        match self {
            Self::QuicThenTcp => &[Transport::Quic, Transport::Tcp],
            Self::Quic => &[Transport::Quic],
            Self::Tcp => &[Transport::Tcp],
        }
    }
}

/// Why no link was made.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// This side cannot dial at all.
    #[error(transparent)]
    Setup(#[from] LinkError),
    /// The host has no address.
    #[error("{host} has no address")]
    Unresolved {
        /// The host and port that were dialled.
        host: String,
        /// Why not, when the names could not be asked.
        source: Option<std::io::Error>,
    },
    /// This side does not let the peer in; `on_refusal` was told, too.
    #[error("{host} is not let in: {detail}")]
    Refused {
        /// The host and port that were dialled.
        host: String,
        /// Why.
        detail: String,
    },
    /// The peer ended it.
    #[error("{host}: {closed}")]
    Closed {
        /// The host and port that were dialled.
        host: String,
        /// Why.
        closed: Closed,
    },
    /// Nobody answered.
    #[error("{host} does not answer: {tried}")]
    NoAnswer {
        /// The host and port that were dialled.
        host: String,
        /// What was tried, and how it went.
        tried: String,
    },
}

/// Dials access points, again and again over the same socket. Its links end with it.
#[derive(Debug)]
pub struct Dialer {
    limits: Limits,
    endpoints: Mutex<Endpoints>,
    /// The tasks of links on TCP.
    running: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Endpoints {
    v4: Option<Endpoint>,
    v6: Option<Endpoint>,
}

/// Whom to dial.
struct To<'a> {
    host: &'a str,
    name: &'a str,
    address: SocketAddr,
    terms: &'a Terms,
}

/// How an attempt went wrong.
enum Attempt {
    /// Another address or transport may do better.
    NoAnswer(String),
    Final(DialError),
}

impl Dialer {
    /// Nothing is opened before something is dialled.
    pub fn new(limits: Limits) -> Self {
        Self { limits, endpoints: Mutex::default(), running: Mutex::default() }
    }

    /// Makes a link with whoever listens at `host`, a name or address and a port.
    ///
    /// The peer may still refuse this side's certificate: a link counts when something was read.
    pub async fn dial(&self, host: &str, way: Way, terms: &Terms) -> Result<Link, DialError> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let unresolved = |source| DialError::Unresolved { host: host.to_owned(), source };
        let addresses = lookup_host(host).await.map_err(|error| unresolved(Some(error)))?;
        let addresses: Vec<_> = addresses.collect();
        let mut tried = Vec::new();
        for transport in way.transports() {
            for address in &addresses {
                let to = To { host, name, address: *address, terms };
                match self.attempt(*transport, way, &to).await {
                    Ok(link) => return Ok(link),
                    Err(Attempt::Final(error)) => return Err(error),
                    Err(Attempt::NoAnswer(how)) => {
                        tried.push(format!("{transport}, {address}: {how}"))
                    }
                }
            }
        }
        match tried.is_empty() {
            true => Err(unresolved(None)),
            false => Err(DialError::NoAnswer { host: host.to_owned(), tried: tried.join("; ") }),
        }
    }

    async fn attempt(&self, transport: Transport, way: Way, to: &To<'_>) -> Result<Link, Attempt> {
        let within = match (transport, way) {
            (Transport::Quic, Way::QuicThenTcp) => self.limits.handshake_within.min(QUIC_WITHIN),
            (Transport::Quic | Transport::Tcp, _) => self.limits.handshake_within,
        };
        let connected = match transport {
            Transport::Quic => timeout(within, self.dial_quic(to)).await,
            Transport::Tcp => timeout(within, self.dial_tcp(to)).await,
        };
        connected.map_err(|_| Attempt::NoAnswer("nothing came back".to_owned()))?
    }

    /// Waits until peers know which links were closed. Links that were not closed end here.
    pub async fn close(&self) {
        let mut running =
            std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
        let endpoints = {
            let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
            [endpoints.v4.clone(), endpoints.v6.clone()]
        };
        for endpoint in endpoints.into_iter().flatten() {
            // Whoever has not heard it by now will notice that nobody is there.
            let _ = timeout(LAST_WORDS_WITHIN, endpoint.wait_idle()).await;
        }
        let ended = async { while running.join_next().await.is_some() {} };
        let _ = timeout(LAST_WORDS_WITHIN, ended).await;
    }

    async fn dial_quic(&self, to: &To<'_>) -> Result<Link, Attempt> {
        let endpoint = self.endpoint(to.address).map_err(Attempt::Final)?;
        let config = quic::client(to.terms, &self.limits);
        let config = config.map_err(|error| Attempt::Final(error.into()))?;
        let connecting = endpoint
            .connect_with(config, to.address, to.name)
            .map_err(|error| Attempt::NoAnswer(error.to_string()))?;
        let connection = connecting.await.map_err(|error| of_quic(to.host, &error))?;
        self.welcome(to, Carrier::Quic(connection)).map_err(Attempt::Final)
    }

    async fn dial_tcp(&self, to: &To<'_>) -> Result<Link, Attempt> {
        let config = client_config(to.terms)
            .map_err(|error| Attempt::Final(LinkError::from(error).into()))?;
        let name = ServerName::try_from(to.name.to_owned())
            .map_err(|error| Attempt::NoAnswer(error.to_string()))?;
        let stream = TcpStream::connect(to.address).await;
        let stream = stream.map_err(|error| Attempt::NoAnswer(error.to_string()))?;
        // Frames are small and somebody waits for them; what cannot be set is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let tls = tls.map_err(|error| of_tls(to.host, &error))?;
        if !speaks_ours(tls.get_ref().1) {
            return Err(Attempt::NoAnswer("it does not speak our protocol".to_owned()));
        }
        let wire = Arc::new(Wire::new(Side::Dialled, &self.limits, to.address, tls.get_ref().1));
        let link = self.welcome(to, Carrier::Tcp(Arc::clone(&wire))).map_err(Attempt::Final)?;
        // It ends with the link, after its last words.
        let limits = self.limits.clone();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(async move { wire.run(tls, &limits).await });
        Ok(link)
    }

    fn welcome(&self, to: &To<'_>, carrier: Carrier) -> Result<Link, DialError> {
        let checked = to.terms.policy.check(&carrier.chain(), to.terms.clock.now());
        let refused = |refused: RefusedPeer| DialError::Refused {
            host: to.host.to_owned(),
            detail: refused.refusal.close_reason(),
        };
        Ok(Link::new(checked.map_err(refused)?, carrier, &self.limits, None))
    }

    fn endpoint(&self, to: SocketAddr) -> Result<Endpoint, DialError> {
        let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, any) = match to {
            SocketAddr::V4(_) => (&mut endpoints.v4, IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            SocketAddr::V6(_) => (&mut endpoints.v6, IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        };
        if let Some(endpoint) = place {
            return Ok(endpoint.clone());
        }
        let address = SocketAddr::new(any, 0);
        let endpoint = Endpoint::client(address);
        let endpoint = endpoint.map_err(|source| LinkError::Address { address, source })?;
        Ok(place.insert(endpoint).clone())
    }
}

impl Drop for Dialer {
    fn drop(&mut self) {
        let endpoints = self.endpoints.get_mut().unwrap_or_else(PoisonError::into_inner);
        for endpoint in [endpoints.v4.take(), endpoints.v6.take()].into_iter().flatten() {
            endpoint.close(quic::ERROR_CODE, word::DROPPED.as_bytes());
        }
    }
}

fn of_quic(host: &str, error: &ConnectionError) -> Attempt {
    let host = host.to_owned();
    match (error, Closed::of_quic(error)) {
        // TLS on this side ended it: the peer's certificate is not let in.
        (ConnectionError::TransportError(error), _) if alert(u64::from(error.code)).is_some() => {
            Attempt::Final(DialError::Refused { host, detail: error.reason.clone() })
        }
        (_, Closed::Silent | Closed::Broken { .. }) => Attempt::NoAnswer(error.to_string()),
        (_, closed) => Attempt::Final(DialError::Closed { host, closed }),
    }
}

fn of_tls(host: &str, error: &io::Error) -> Attempt {
    let host = host.to_owned();
    match (tls_error(error), of_io(error)) {
        (Some(TlsError::InvalidCertificate(refused)), _) => {
            Attempt::Final(DialError::Refused { host, detail: refused.to_string() })
        }
        (_, closed @ Closed::NotLetIn { .. }) => Attempt::Final(DialError::Closed { host, closed }),
        (_, closed) => Attempt::NoAnswer(closed.to_string()),
    }
}
