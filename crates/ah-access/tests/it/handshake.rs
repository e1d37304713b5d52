//! Both sides over real sockets: TLS 1.3 with certificates of both, or a reason that both know.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::DerefMut;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ah_access::frame::ALPN;
use ah_access::peer::{PeerSide, told};
use ah_access::tls::{client_config, server_config};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS12;
use rustls::{
    ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, RootCertStore, ServerConfig,
    ServerConnection, SideData,
};

use crate::authority::Home;
use crate::given::{Ca, Leaf, Side, TestClock, days, uri};

/// What a side knows when a connection was made and both have said something.
#[derive(Debug)]
struct Met {
    peer: Vec<CertificateDer<'static>>,
    alpn: Option<Vec<u8>>,
    kind: Option<HandshakeKind>,
}

fn talk<C, S>(mut connection: C, stream: &mut TcpStream) -> io::Result<Met>
where
    C: DerefMut<Target = ConnectionCommon<S>>,
    S: SideData,
{
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut tls = rustls::Stream::new(&mut connection, stream);
    let mut heard = [0; 2];
    // Only after reading is it known that the other side has accepted our certificate.
    let talked = tls.write_all(b"hi").and_then(|()| tls.read_exact(&mut heard));
    stream.shutdown(Shutdown::Write)?;
    talked?;
    Ok(Met {
        peer: connection.peer_certificates().unwrap_or_default().to_vec(),
        alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
        kind: connection.handshake_kind(),
    })
}

/// Lets an access point and an executor meet; how it went for each of them.
fn meet(server: ServerConfig, client: ClientConfig) -> (io::Result<Met>, io::Result<Met>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(server)).unwrap();
        let accepted = talk(connection, &mut stream);
        // Kept open: closing it now could take away what the other side has not read yet.
        (accepted, stream)
    });
    let name = ServerName::from(address.ip());
    let connection = ClientConnection::new(Arc::new(client), name).unwrap();
    let dialled = talk(connection, &mut TcpStream::connect(address).unwrap());
    (accepted.join().unwrap().0, dialled)
}

/// What TLS told the side whose certificate was refused.
fn heard(result: io::Result<Met>) -> &'static str {
    let error = result.unwrap_err();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    told(inner.unwrap_or_else(|| panic!("{error}"))).unwrap_or_else(|| panic!("{error}"))
}

/// An access point and an executor of one authority.
struct Sides {
    server: Side,
    executor: Side,
    clock: Arc<TestClock>,
}

impl Sides {
    fn of(ca: &Ca, server: &Leaf, executor: &Leaf) -> Self {
        let clock = TestClock::new();
        let side = |leaf, peer| Side::new(ca.unchecked(leaf), ca.policy(peer), Arc::clone(&clock));
        Self {
            server: side(server, PeerSide::Executor),
            executor: side(executor, PeerSide::Server),
            clock,
        }
    }

    fn meet(&self) -> (io::Result<Met>, io::Result<Met>) {
        let server = server_config(&self.server.terms).unwrap();
        meet(server, client_config(&self.executor.terms).unwrap())
    }
}

#[test]
fn what_the_authority_issued_for_both_sides_meets() {
    let home = Home::new("example.org");
    let clock = TestClock::new();
    let server = home.issue("harbor", PeerSide::Server);
    let executor = home.issue("node-1", PeerSide::Executor);
    let server = Side::new(server, home.policy(PeerSide::Executor), Arc::clone(&clock));
    let executor = Side::new(executor, home.policy(PeerSide::Server), clock);
    let sides = (server_config(&server.terms).unwrap(), client_config(&executor.terms).unwrap());
    let (accepted, dialled) = meet(sides.0, sides.1);
    let (accepted, dialled) = (accepted.unwrap(), dialled.unwrap());
    assert_eq!((accepted.alpn, dialled.alpn), (Some(ALPN.to_vec()), Some(ALPN.to_vec())));
    let id = server.terms.policy.check(&accepted.peer, crate::given::now()).unwrap();
    assert_eq!(id.as_str(), "spiffe://example.org/ah/agent/node-1");
    let id = executor.terms.policy.check(&dialled.peer, crate::given::now()).unwrap();
    assert_eq!(id.as_str(), "spiffe://example.org/ah/serve");
    assert!(server.refusals().is_empty() && executor.refusals().is_empty());
}

#[test]
fn a_revoked_executor_is_refused_by_an_access_point_that_runs() {
    let home = Home::new("example.org");
    let clock = TestClock::new();
    let server = home.issue("harbor", PeerSide::Server);
    let executor = home.issue("node-1", PeerSide::Executor);
    let serial = executor.serial.clone();
    let server = Side::new(server, home.policy(PeerSide::Executor), Arc::clone(&clock));
    let executor = Side::new(executor, home.policy(PeerSide::Server), clock);
    // The same configurations throughout, as programs that run have them.
    let accepting = server_config(&server.terms).unwrap();
    let dialling = client_config(&executor.terms).unwrap();
    let (accepted, dialled) = meet(accepting.clone(), dialling.clone());
    assert!(accepted.is_ok() && dialled.is_ok());
    home.authority.revoke("node-1", crate::given::now()).unwrap();
    let (accepted, dialled) = meet(accepting, dialling);
    assert!(accepted.is_err());
    assert_eq!(server.refusals(), ["revoked"]);
    assert_eq!(server.refused.lock().unwrap()[0].serial, Some(serial));
    assert_eq!(heard(dialled), "the other side says our certificate was revoked");
}

/// An executor with this certificate is refused for `code`, and told `words`.
fn check_refused(leaf: &Leaf, code: &str, words: &str) {
    let sides = Sides::of(&Ca::new(), &Leaf::server(), leaf);
    let (accepted, dialled) = sides.meet();
    let error = accepted.unwrap_err();
    assert_eq!(sides.server.refusals(), [code]);
    assert_eq!(heard(dialled), words);
    // Over QUIC these words reach the other side, too.
    let refusal = sides.server.refused.lock().unwrap()[0].refusal.close_reason();
    let is_tls_own = matches!(code, "expired" | "not-yet-valid" | "wrong-usage");
    assert!(is_tls_own || error.to_string().contains(&refusal), "{error}");
}

const NAME: &str = "the other side does not let the name in our certificate in";
const TIME: &str = "the other side holds our certificate for expired, or not valid yet";

#[test]
fn an_expired_executor_is_refused() {
    check_refused(&Leaf { until: days(-1), from: days(-30), ..Leaf::executor() }, "expired", TIME);
}

#[test]
fn an_executor_that_is_not_valid_yet_is_refused() {
    let later = Leaf { from: days(1), until: days(2), ..Leaf::executor() };
    check_refused(&later, "not-yet-valid", TIME);
}

#[test]
fn an_executor_of_another_trust_domain_is_refused() {
    let leaf = Leaf::named(vec![uri("spiffe://example.com/ah/agent/node-1")]);
    check_refused(&leaf, "wrong-trust-domain", NAME);
}

#[test]
fn an_executor_with_the_wrong_names_is_refused() {
    let id = uri("spiffe://example.org/ah/agent/node-1");
    check_refused(&Leaf::named(vec![id.clone(), id]), "several-uris", NAME);
    check_refused(&Leaf::named(vec![crate::given::dns("node-1")]), "no-uri", NAME);
    let serve = uri("spiffe://example.org/ah/serve");
    check_refused(&Leaf::named(vec![serve]), "wrong-path", NAME);
}

#[test]
fn an_access_point_is_no_executor() {
    let words = "our certificate was not issued for this side of a connection";
    check_refused(&Leaf::server(), "wrong-usage", words);
}

#[test]
fn an_executor_of_another_authority_is_refused() {
    let (ca, other) = (Ca::new(), Ca::new());
    let clock = TestClock::new();
    let server = ca.identity(&Leaf::server());
    let server = Side::new(server, ca.policy(PeerSide::Executor), Arc::clone(&clock));
    let executor = other.identity(&Leaf::executor());
    let executor = Side::new(executor, ca.policy(PeerSide::Server), clock);
    let sides = (server_config(&server.terms).unwrap(), client_config(&executor.terms).unwrap());
    let (accepted, dialled) = meet(sides.0, sides.1);
    assert!(accepted.is_err());
    assert_eq!(server.refusals(), ["unknown-authority"]);
    assert_eq!(heard(dialled), "the other side does not trust our authority");
}

#[test]
fn an_access_point_is_checked_as_well_as_an_executor() {
    let check = |server: &Leaf, code: &str, words: &str| {
        let sides = Sides::of(&Ca::new(), server, &Leaf::executor());
        let (accepted, dialled) = sides.meet();
        assert!(dialled.is_err());
        assert_eq!(sides.executor.refusals(), [code]);
        assert_eq!(heard(accepted), words);
    };
    let named = |name: &str| Leaf { names: vec![uri(name)], ..Leaf::server() };
    check(&named("spiffe://example.com/ah/serve"), "wrong-trust-domain", NAME);
    check(&named("spiffe://example.org/ah/agent/evil"), "wrong-path", NAME);
    check(&Leaf { until: days(0).minus_ms(1_000), ..Leaf::server() }, "expired", TIME);
}

#[test]
fn time_is_taken_from_the_one_clock() {
    let sides = Sides::of(&Ca::new(), &Leaf::server(), &Leaf::executor());
    assert!(sides.meet().0.is_ok());
    *sides.clock.0.lock().unwrap() = days(40);
    let (accepted, dialled) = sides.meet();
    assert!(accepted.is_err() && dialled.is_err());
    assert_eq!(sides.executor.refusals(), ["expired"]);
}

#[test]
fn nothing_is_resumed() {
    let sides = Sides::of(&Ca::new(), &Leaf::server(), &Leaf::executor());
    let server = server_config(&sides.server.terms).unwrap();
    let client = client_config(&sides.executor.terms).unwrap();
    for _ in 0..2 {
        let (accepted, dialled) = meet(server.clone(), client.clone());
        assert_eq!(accepted.unwrap().kind, Some(HandshakeKind::Full));
        assert_eq!(dialled.unwrap().kind, Some(HandshakeKind::Full));
    }
}

/// A stranger that trusts the authority, and otherwise does as it likes.
fn stranger(ca: &Ca, versions: &[&'static rustls::SupportedProtocolVersion]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(ca.der.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_protocol_versions(versions).unwrap();
    builder.with_root_certificates(roots).with_no_client_auth()
}

#[test]
fn nobody_comes_in_without_a_certificate() {
    let ca = Ca::new();
    let sides = Sides::of(&ca, &Leaf::server(), &Leaf::executor());
    let mut bare = client_config(&sides.executor.terms).unwrap();
    bare.client_auth_cert_resolver = stranger(&ca, rustls::ALL_VERSIONS).client_auth_cert_resolver;
    let (accepted, dialled) = meet(server_config(&sides.server.terms).unwrap(), bare);
    assert!(accepted.unwrap_err().to_string().contains("no certificates"));
    assert_eq!(heard(dialled), "the other side wants a certificate");
}

#[test]
fn older_versions_of_tls_are_not_spoken() {
    let ca = Ca::new();
    let sides = Sides::of(&ca, &Leaf::server(), &Leaf::executor());
    let server = server_config(&sides.server.terms).unwrap();
    let (accepted, dialled) = meet(server, stranger(&ca, &[&TLS12]));
    let error = accepted.unwrap_err().to_string();
    assert!(error.contains("Tls12NotOfferedOrEnabled") || error.contains("Tls12"), "{error}");
    assert_eq!(heard(dialled), "the other side does not speak TLS 1.3");
}

#[test]
fn other_protocols_are_not_spoken() {
    let sides = Sides::of(&Ca::new(), &Leaf::server(), &Leaf::executor());
    let server = server_config(&sides.server.terms).unwrap();
    let mut client = client_config(&sides.executor.terms).unwrap();
    client.alpn_protocols = vec![b"h2".to_vec()];
    let (accepted, dialled) = meet(server, client);
    assert!(accepted.is_err());
    assert_eq!(heard(dialled), "the other side does not speak our protocol");
}
