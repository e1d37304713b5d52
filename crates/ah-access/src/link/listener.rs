//! The side that is dialled: it accepts, checks and hands over links.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use quinn::{Endpoint, EndpointConfig, Incoming, TokioRuntime};
use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::gate::{Gate, Pass};
use super::mux::Side;
use super::tcp::{self, Wire};
use super::{Carrier, First, Inner, Limits, Link, LinkError, Reason, quic, word};
use crate::peer::RefusedPeer;
use crate::tls::{Terms, server_config};

/// Links that wait to be accepted; more wait with their handshakes' places.
const WAITING_MAX: usize = 64;
/// How long the last words to peers may take when a listener is closed.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(3);

/// How often a port is looked for that is free for UDP and TCP.
const PORT_TRIES: usize = 16;
/// How long nobody is accepted after the system could not.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a listener listens on; one port in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transports {
    /// QUIC on UDP and TLS on TCP.
    Both,
    /// QUIC on UDP only.
    Quic,
    /// TLS on TCP only.
    Tcp,
}

/// Accepts links. They end with it.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<Shared>,
    address: SocketAddr,
    endpoint: Option<Endpoint>,
    waiting: tokio::sync::Mutex<mpsc::Receiver<Link>>,
    tasks: tokio::sync::Mutex<JoinSet<()>>,
}

/// What the tasks of a listener have in common.
struct Shared {
    given: Mutex<Given>,
    limits: Limits,
    gate: Arc<Gate>,
    accepted: mpsc::Sender<Link>,
    stop: watch::Sender<bool>,
}

/// Terms, and TLS on TCP as it follows from them.
struct Given {
    terms: Arc<Terms>,
    tls: Arc<ServerConfig>,
}

impl Given {
    fn new(terms: Arc<Terms>) -> Result<Self, LinkError> {
        let tls = Arc::new(server_config(&terms)?);
        Ok(Self { terms, tls })
    }
}

/// Sockets of one port.
struct Sockets {
    udp: Option<UdpSocket>,
    tcp: Option<std::net::TcpListener>,
}

impl Sockets {
    fn bind(address: SocketAddr, transports: Transports) -> io::Result<Self> {
        let mut tries = PORT_TRIES;
        loop {
            tries -= 1;
            let udp = match transports {
                Transports::Both | Transports::Quic => Some(UdpSocket::bind(address)?),
                Transports::Tcp => None,
            };
            let port = udp.as_ref().map_or(Ok(address), UdpSocket::local_addr)?.port();
            let tcp = match transports {
                Transports::Both | Transports::Tcp => {
                    std::net::TcpListener::bind(SocketAddr::new(address.ip(), port)).map(Some)
                }
                Transports::Quic => Ok(None),
            };
            match tcp {
                Ok(tcp) => return Ok(Self { udp, tcp }),
                // The port that UDP was given may be taken for TCP.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries > 0 => {
                    if address.port() != 0 {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        let udp = self.udp.as_ref().and_then(|udp| udp.local_addr().ok());
        udp.or_else(|| self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()))
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shared({:?})", self.gate)
    }
}

impl Listener {
    /// Listens on this address. Must be called inside of a runtime.
    pub fn bind(
        address: SocketAddr,
        transports: Transports,
        terms: Arc<Terms>,
        limits: Limits,
    ) -> Result<Self, LinkError> {
        let sockets = Sockets::bind(address, transports)
            .map_err(|source| LinkError::Address { address, source })?;
        let address = sockets.address().unwrap_or(address);
        let (accepted, waiting) = mpsc::channel(WAITING_MAX);
        let gate = Gate::new(&limits);
        let given = Given::new(terms)?;
        let (given, stop) = (Mutex::new(given), watch::Sender::new(false));
        let shared = Arc::new(Shared { given, limits, gate, accepted, stop });
        let mut tasks = JoinSet::new();
        let endpoint = match sockets.udp {
            Some(udp) => Some(shared.endpoint(udp, address)?),
            None => None,
        };
        if let Some(endpoint) = &endpoint {
            tasks.spawn(accept_quic(Arc::clone(&shared), endpoint.clone()));
        }
        if let Some(tcp) = sockets.tcp {
            let tcp = tcp.set_nonblocking(true).and_then(|()| TcpListener::from_std(tcp));
            let tcp = tcp.map_err(|source| LinkError::Address { address, source })?;
            tasks.spawn(accept_tcp(Arc::clone(&shared), tcp));
        }
        Ok(Self {
            shared,
            address,
            endpoint,
            waiting: tokio::sync::Mutex::new(waiting),
            tasks: tokio::sync::Mutex::new(tasks),
        })
    }

    /// Where it listens, with the port that it was given.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next link, with a peer that was let in. None when the listener was closed.
    pub async fn accept(&self) -> Option<Link> {
        let next = async { self.waiting.lock().await.recv().await };
        tokio::select! {
            biased;
            () = self.shared.stopped() => None,
            link = next => link,
        }
    }

    /// From now on this side is who `terms` say, and lets in whom they say. Links that live are not
    /// touched; see [`Self::recheck`].
    pub fn set_terms(&self, terms: Arc<Terms>) -> Result<(), LinkError> {
        let given = Given::new(terms)?;
        let config = quic::server(&given.terms, &self.shared.limits)?;
        if let Some(endpoint) = &self.endpoint {
            endpoint.set_server_config(Some(config));
        }
        *self.shared.given() = given;
        Ok(())
    }

    /// Checks every peer that lives again, by the policy and the clock of now, and closes the links
    /// of those that would not be let in.
    pub fn recheck(&self) -> Vec<RefusedPeer> {
        let terms = self.shared.terms();
        let now = terms.clock.now();
        let check = |link: Link| {
            let refused = link.check(&terms.policy, now).err()?;
            (terms.on_refusal)(&refused);
            link.close(refused.refusal.code(), &refused.refusal.to_string());
            Some(refused)
        };
        self.shared.gate.links().into_iter().filter_map(check).collect()
    }

    /// Links that live.
    pub fn links(&self) -> Vec<Link> {
        self.shared.gate.links()
    }

    /// Accepts nobody any more, closes every link, and waits until the peers know it.
    pub async fn close(&self, word: &str, detail: &str) {
        self.shared.stop.send_replace(true);
        for link in self.shared.gate.links() {
            link.close(word, detail);
        }
        let mut tasks = self.tasks.lock().await;
        let ended = async {
            while tasks.join_next().await.is_some() {}
            if let Some(endpoint) = &self.endpoint {
                endpoint.wait_idle().await;
            }
        };
        // Whoever has not heard it by now will notice that nobody is there.
        let _ = timeout(LAST_WORDS_WITHIN, ended).await;
        tasks.abort_all();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        for link in self.shared.gate.links() {
            link.close(word::DROPPED, "");
        }
    }
}

impl Shared {
    fn given(&self) -> MutexGuard<'_, Given> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.given().terms)
    }

    /// Waits until the listener is closed.
    async fn stopped(&self) {
        // The sender is here, so it is not gone.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }

    fn endpoint(&self, udp: UdpSocket, address: SocketAddr) -> Result<Endpoint, LinkError> {
        let config = quic::server(&self.terms(), &self.limits)?;
        let runtime = Arc::new(TokioRuntime);
        let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), udp, runtime);
        endpoint.map_err(|source| LinkError::Address { address, source })
    }

    /// A peer that TLS does not let in is told so before it is hung up on.
    async fn accept_tls(&self, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        // Frames are small and somebody waits for them; what cannot be set is slower, not wrong.
        let _ = stream.set_nodelay(true);
        let acceptor = TlsAcceptor::from(Arc::clone(&self.given().tls));
        match acceptor.accept(stream).into_fallible().await {
            Ok(tls) => Some(tls),
            Err((_, mut stream)) => {
                let last = async {
                    stream.shutdown().await?;
                    tcp::discard(&mut stream).await
                };
                let _ = timeout(tcp::LAST_WORDS_WITHIN, last).await;
                None
            }
        }
    }

    /// Makes a link of a connection whose handshake is done, if its peer may still come in.
    fn welcome(&self, carrier: Carrier, pass: &mut Pass) -> Option<Link> {
        let terms = self.terms();
        let chain = carrier.chain();
        match terms.policy.check(&chain, terms.clock.now()) {
            Ok(peer) => Some(Link::new(peer, carrier, &self.limits, Some(pass.member()))),
            Err(refused) => {
                (terms.on_refusal)(&refused);
                let refusal = refused.refusal;
                carrier.close(&Reason::new(refusal.code(), &refusal.to_string()));
                None
            }
        }
    }

    /// Hands a link over, and closes it when its first frame does not come in time.
    async fn hand_over(&self, link: Link, pass: Pass) {
        let (first, weak) = (Arc::clone(&link.0.first), link.downgrade());
        if self.accepted.send(link).await.is_err() {
            return;
        }
        drop(pass);
        await_first_frame(&first, weak, self.limits.first_frame_within).await;
    }
}

async fn await_first_frame(first: &First, link: Weak<Inner>, within: Duration) {
    if timeout(within, first.changed.notified()).await.is_ok() {
        return;
    }
    if let Some(link) = link.upgrade() {
        let detail = format!("no frame came within {} s", within.as_secs_f32());
        link.close(word::NO_FRAME, &detail);
    }
}

async fn accept_quic(shared: Arc<Shared>, endpoint: Endpoint) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => break,
            Some(_) = tasks.join_next() => {}
            incoming = endpoint.accept() => match incoming {
                Some(incoming) => admit_quic(&shared, incoming, &mut tasks),
                None => break,
            },
        }
    }
    endpoint.set_server_config(None);
}

/// Begins a handshake, or answers with a retry or a refusal, which keep nothing.
fn admit_quic(shared: &Arc<Shared>, incoming: Incoming, tasks: &mut JoinSet<()>) {
    let address = incoming.remote_address().ip();
    if shared.gate.is_crowded(address) && incoming.may_retry() {
        // An error would mean that it may not be retried, which was just asked.
        drop(incoming.retry());
        return;
    }
    match shared.gate.enter(address) {
        Some(pass) => drop(tasks.spawn(shake_quic(Arc::clone(shared), incoming, pass))),
        None => incoming.refuse(),
    }
}

async fn shake_quic(shared: Arc<Shared>, incoming: Incoming, mut pass: Pass) {
    let Ok(connecting) = incoming.accept() else { return };
    let done = timeout(shared.limits.handshake_within, connecting).await;
    let Ok(Ok(connection)) = done else { return };
    if let Some(link) = shared.welcome(Carrier::Quic(connection), &mut pass) {
        shared.hand_over(link, pass).await;
    }
}

async fn accept_tcp(shared: Arc<Shared>, listener: TcpListener) {
    let mut tasks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => break,
            Some(_) = tasks.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, remote)) => admit_tcp(&shared, stream, remote, &mut tasks),
                // Mostly that no file can be opened; without a pause it would fail again at once.
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
        }
    }
    drop(listener);
    // Links say their last words.
    while tasks.join_next().await.is_some() {}
}

/// Begins a handshake, or hangs up: before TLS there are no words.
fn admit_tcp(shared: &Arc<Shared>, stream: TcpStream, remote: SocketAddr, tasks: &mut JoinSet<()>) {
    let Some(pass) = shared.gate.enter(remote.ip()) else { return };
    tasks.spawn(shake_tcp(Arc::clone(shared), stream, remote, pass));
}

async fn shake_tcp(shared: Arc<Shared>, stream: TcpStream, remote: SocketAddr, mut pass: Pass) {
    let tls = tokio::select! {
        tls = timeout(shared.limits.handshake_within, shared.accept_tls(stream)) => tls,
        () = shared.stopped() => return,
    };
    let Ok(Some(tls)) = tls else { return };
    if !tcp::speaks_ours(tls.get_ref().1) {
        return;
    }
    let wire = Arc::new(Wire::new(Side::Accepted, &shared.limits, remote, tls.get_ref().1));
    let welcomed = shared.welcome(Carrier::Tcp(Arc::clone(&wire)), &mut pass);
    let handed_over = async {
        if let Some(link) = welcomed {
            shared.hand_over(link, pass).await;
        }
    };
    tokio::join!(wire.run(tls, &shared.limits), handed_over);
}
