//! Identities from a SPIFFE agent: a server of the test's own on a Unix socket that answers as one.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ah_access::identity::{Provider, ProviderKind, WorkloadProvider};
use http::{HeaderMap, Request, Response};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use tempfile::TempDir;
use tokio::net::UnixListener;

use crate::given::{Ca, Leaf, now, uri};

/// What an agent does with one call.
enum Answer {
    /// Sends these messages, cut so, and then keeps the stream open.
    Messages(Vec<u8>, usize),
    /// Ends the stream with this status after these bytes.
    Status(Vec<u8>, &'static str, &'static str),
    /// Says nothing.
    Silence,
}

struct Agent {
    _directory: TempDir,
    socket: PathBuf,
    served: JoinHandle<Option<Request<()>>>,
}

impl Agent {
    fn new(answer: Answer) -> Self {
        let directory = TempDir::new().unwrap();
        let socket = directory.path().join("agent.sock");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = runtime.block_on(async { UnixListener::bind(&socket).unwrap() });
        let served = thread::spawn(move || runtime.block_on(serve(listener, answer)));
        Self { _directory: directory, socket, served }
    }

    fn provider(&self) -> WorkloadProvider {
        provider(&self.socket)
    }

    fn refusal(self) -> String {
        let error = self.provider().load(now()).unwrap_err().to_string();
        let prefix = format!("{}: ", self.socket.display());
        error.strip_prefix(&prefix).unwrap_or_else(|| panic!("{error}")).to_owned()
    }
}

fn provider(socket: &Path) -> WorkloadProvider {
    WorkloadProvider { socket: socket.to_owned(), id: None, timeout: Duration::from_secs(60) }
}

/// Answers one call, and goes when the caller does.
async fn serve(listener: UnixListener, answer: Answer) -> Option<Request<()>> {
    let (stream, _) = listener.accept().await.unwrap();
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let (request, mut respond) = connection.accept().await?.unwrap();
    let mut kept = None;
    match answer {
        Answer::Silence => {}
        Answer::Messages(bytes, piece) => {
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            for piece in bytes.chunks(piece) {
                body.send_data(piece.to_vec().into(), false).unwrap();
            }
            kept = Some(body);
        }
        Answer::Status(bytes, status, message) => {
            let mut body = respond.send_response(Response::new(()), false).unwrap();
            body.send_data(bytes.into(), false).unwrap();
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", status.parse().unwrap());
            if !message.is_empty() {
                trailers.insert("grpc-message", message.parse().unwrap());
            }
            body.send_trailers(trailers).unwrap();
        }
    }
    while connection.accept().await.is_some() {}
    drop(kept);
    Some(request.map(|_| ()))
}

/// A field of a message that holds bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut length = bytes.len();
    let mut field = vec![number << 3 | 2];
    while length > 0x7f {
        field.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    field.push(u8::try_from(length).unwrap());
    [field, bytes.to_vec()].concat()
}

fn svid(ca: &Ca, node: &str) -> Vec<u8> {
    let id = format!("spiffe://example.org/ah/agent/{node}");
    let pair = ca.issue(&Leaf::named(vec![uri(&id)]));
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let hint = field(5, b"internal");
    let chain = field(2, &pair.chain()[0]);
    let key = field(3, key.secret_der());
    // Two authorities, one after the other, as in a trust domain that changes them.
    let bundle = field(4, &[&ca.der[..], &Ca::new().der[..]].concat());
    [field(1, id.as_bytes()), chain, key, bundle, hint].concat()
}

/// The answer of an agent, with fields that are of no use here.
fn response(svids: &[Vec<u8>]) -> Vec<u8> {
    let crl = field(2, b"a list");
    let svids = svids.iter().flat_map(|svid| field(1, svid));
    crl.into_iter().chain(svids).chain([9 << 3, 0x80, 0x01]).collect()
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0][..], &length.to_be_bytes(), message].concat()
}

#[test]
fn an_agent_gives_an_identity_however_its_answer_is_cut() {
    for piece in [64, 333, usize::MAX] {
        let ca = Ca::new();
        let answer = framed(&response(&[svid(&ca, "node-1")]));
        let agent = Agent::new(Answer::Messages(answer, piece));
        let identity = agent.provider().load(now()).unwrap();
        assert_eq!(identity.id.as_str(), "spiffe://example.org/ah/agent/node-1");
        assert_eq!((identity.chain.len(), identity.roots.len()), (1, 2));
        assert_eq!(identity.roots[0], ca.der);
        let request = agent.served.join().unwrap().unwrap();
        assert_eq!(request.uri().path(), "/SpiffeWorkloadAPI/FetchX509SVID");
        assert_eq!(request.headers()["workload.spiffe.io"], "true");
        assert_eq!(request.headers()["content-type"], "application/grpc");
    }
}

#[test]
fn an_answer_longer_than_a_window_is_read() {
    let ca = Ca::new();
    let padding = field(7, &vec![0; 300_000]);
    let answer = framed(&[padding, response(&[svid(&ca, "node-1")])].concat());
    let identity = Agent::new(Answer::Messages(answer, 10_000)).provider().load(now()).unwrap();
    assert_eq!(identity.roots[0], ca.der);
}

#[test]
fn one_of_several_identities_can_be_chosen() {
    let ca = Ca::new();
    let answer = framed(&response(&[svid(&ca, "one"), svid(&ca, "two")]));
    let load = |node: &str| {
        let agent = Agent::new(Answer::Messages(answer.clone(), usize::MAX));
        let id = format!("spiffe://example.org/ah/agent/{node}").parse().unwrap();
        WorkloadProvider { id: Some(id), ..agent.provider() }.load(now())
    };
    assert_eq!(load("two").unwrap().id.as_str(), "spiffe://example.org/ah/agent/two");
    let error = load("three").unwrap_err().to_string();
    assert!(error.ends_with("no identity spiffe://example.org/ah/agent/three for this program"));
}

#[test]
fn agents_that_give_none_are_named() {
    let refused = |answer| Agent::new(answer).refusal();
    let none = "it has no identity for this program";
    assert_eq!(refused(Answer::Status(vec![], "7", "")), none);
    assert_eq!(refused(Answer::Messages(framed(&response(&[])), 100)), none);
    let words = "it answered with the status 14: not ready";
    assert_eq!(refused(Answer::Status(vec![], "14", "not ready")), words);
    let short = Answer::Status(vec![0, 0], "0", "");
    assert_eq!(refused(short), "it ended without an answer");
    let long = Answer::Messages(vec![0, 0xff, 0xff, 0xff, 0xff], 100);
    assert_eq!(refused(long), "its answer has more than 4194304 bytes");
    assert_eq!(refused(Answer::Messages(vec![1, 0, 0, 0, 0], 9)), "its answer is compressed");
    let broken = framed(&[1 << 3 | 2, 0x7f, 0]);
    assert_eq!(refused(Answer::Messages(broken, 100)), "its answer cannot be read");
    let endless = framed(&[0xff; 20]);
    assert_eq!(refused(Answer::Messages(endless, 100)), "its answer cannot be read");
    let no_chain = framed(&response(&[field(2, b"nothing")]));
    assert_eq!(refused(Answer::Messages(no_chain, 100)), "its chain cannot be read");
}

#[test]
fn an_agent_that_says_nothing_is_not_waited_for() {
    let agent = Agent::new(Answer::Silence);
    let provider = WorkloadProvider { timeout: Duration::from_millis(200), ..agent.provider() };
    let error = provider.load(now()).unwrap_err().to_string();
    assert!(error.ends_with("it did not answer within 200 ms"), "{error}");
    assert!(agent.served.join().unwrap().is_some(), "it was asked");
}

#[test]
fn an_agent_that_is_not_there_is_named() {
    let directory = TempDir::new().unwrap();
    let provider = provider(&directory.path().join("none.sock"));
    let error = provider.load(now()).unwrap_err().to_string();
    assert!(error.contains("none.sock: No such file"), "{error}");
    assert_eq!(provider.kind(), ProviderKind::Spiffe);
}

#[test]
fn an_identity_can_be_asked_for_inside_a_runtime() {
    let ca = Ca::new();
    let answer = framed(&response(&[svid(&ca, "node-1")]));
    let agent = Agent::new(Answer::Messages(answer, 100));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let identity = runtime.block_on(async { agent.provider().load(now()) });
    assert!(identity.is_ok());
}

#[test]
fn the_address_of_a_socket_is_unix_and_absolute() {
    let path = |text: &str| WorkloadProvider::socket_of(text);
    for address in ["unix:///run/agent.sock", "unix:/run/agent.sock"] {
        assert_eq!(path(address).unwrap(), Path::new("/run/agent.sock"));
    }
    for address in ["/run/agent.sock", "unix:", "unix://agent.sock", "tcp://127.0.0.1:1", ""] {
        assert!(path(address).is_err(), "{address}");
    }
}
