//! An identity from the Workload API of a SPIFFE agent: gRPC over a Unix socket.
//!
//! One call of it is needed, so its two messages are read here by hand, over `h2`. The agent would
//! stream every change; the first answer is taken, and the next one asked for in time.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ah_model::{Invalid, Timestamp};
use h2::RecvStream;
use http::{HeaderMap, Request};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::net::UnixStream;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Identity, IdentityError, Mark, Parts, Provider, ProviderKind, SpiffeId};

const CALL: &str = "http://localhost/SpiffeWorkloadAPI/FetchX509SVID";
/// A message without fields: not compressed, no bytes.
const NOTHING: &[u8] = &[0; 5];
/// Bytes before a message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;
/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most of an agent's own words in an error.
const WORDS_CHARS_MAX: usize = 300;

/// The Workload API of a SPIFFE agent on this machine.
#[derive(Debug, Clone)]
pub struct WorkloadProvider {
    /// Its socket.
    pub socket: PathBuf,
    /// Which identity to take when there are several; the first when absent.
    pub id: Option<SpiffeId>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Provider for WorkloadProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Spiffe
    }

    fn load(&self, now: Timestamp) -> Result<Identity, IdentityError> {
        let answer = self.ask().map_err(|reason| self.failed(reason))?;
        let svid = self.choose(&answer).map_err(|reason| self.failed(reason))?;
        let bad = |reason: &str| self.failed(reason.to_owned());
        let parts = Parts {
            chain: certificates(svid.chain).ok_or_else(|| bad("its chain cannot be read"))?,
            key: Some(PrivatePkcs8KeyDer::from(svid.key.to_vec()).into()),
            roots: certificates(svid.bundle).ok_or_else(|| bad("its bundle cannot be read"))?,
        };
        Identity::new(parts, &self.socket.display().to_string(), now)
    }

    fn mark(&self) -> Result<Option<Mark>, IdentityError> {
        Ok(None)
    }
}

impl WorkloadProvider {
    /// The socket that an address such as `unix:///run/agent.sock` names.
    pub fn socket_of(address: &str) -> Result<PathBuf, Invalid> {
        let path =
            address.strip_prefix("unix:").map(|rest| rest.strip_prefix("//").unwrap_or(rest));
        match path.filter(|path| path.starts_with('/')) {
            Some(path) => Ok(Path::new(path).to_owned()),
            None => {
                let reason = format!("{address:?} is not unix: and an absolute path");
                Err(Invalid::new("address of the Workload API", reason))
            }
        }
    }

    /// Asks on a thread of its own: who calls may be inside a runtime, where none can be started.
    fn ask(&self) -> Result<Vec<u8>, String> {
        let asked = thread::scope(|scope| scope.spawn(|| self.ask_here()).join());
        asked.unwrap_or_else(|_| Err("asking it did not end well".to_owned()))
    }

    fn ask_here(&self) -> Result<Vec<u8>, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        runtime.block_on(async {
            let answer = tokio::time::timeout(self.timeout, fetch(&self.socket)).await;
            answer.unwrap_or_else(|_| {
                Err(format!("it did not answer within {} ms", self.timeout.as_millis()))
            })
        })
    }

    fn choose<'a>(&self, answer: &'a [u8]) -> Result<Svid<'a>, String> {
        let mut svids = Vec::new();
        for field in Fields(answer) {
            if let (1, bytes) = field? {
                svids.push(Svid::read(bytes)?);
            }
        }
        let is_wanted = |svid: &Svid<'_>| match &self.id {
            Some(id) => svid.id == id.as_str().as_bytes(),
            None => true,
        };
        svids.into_iter().find(is_wanted).ok_or_else(|| match &self.id {
            Some(id) => format!("it has no identity {id} for this program"),
            None => "it has no identity for this program".to_owned(),
        })
    }

    fn failed(&self, reason: String) -> IdentityError {
        IdentityError::Source { origin: self.socket.display().to_string(), reason }
    }
}

/// The first message that the agent answers with.
async fn fetch(socket: &Path) -> Result<Vec<u8>, String> {
    let text = |error: h2::Error| error.to_string();
    let stream = UnixStream::connect(socket).await.map_err(|error| error.to_string())?;
    let connected = h2::client::Builder::new().handshake::<_, &'static [u8]>(stream).await;
    let (client, connection) = connected.map_err(text)?;
    // It ends with the runtime, which lives for this one call.
    drop(tokio::spawn(connection));
    let request = Request::post(CALL)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        // Without it an agent refuses: a page in a browser cannot send it.
        .header("workload.spiffe.io", "true")
        .body(())
        .map_err(|error| error.to_string())?;
    let mut client = client.ready().await.map_err(text)?;
    let (response, mut sent) = client.send_request(request, false).map_err(text)?;
    sent.send_data(NOTHING, true).map_err(text)?;
    let response = response.await.map_err(text)?;
    if !response.status().is_success() {
        return Err(format!("it answered {}", response.status().as_u16()));
    }
    match refusal(response.headers()) {
        Some(reason) => Err(reason),
        None => message(response.into_body()).await,
    }
}

/// The first message of a body that may go on for ever.
async fn message(mut body: RecvStream) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| error.to_string())?;
        bytes.extend_from_slice(&piece);
        let released = body.flow_control().release_capacity(piece.len());
        released.map_err(|error| error.to_string())?;
        let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>() else { continue };
        let [compressed, length @ ..] = *prefix;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if compressed != 0 {
            return Err("its answer is compressed".to_owned());
        }
        if length > ANSWER_BYTES_MAX {
            return Err(format!("its answer has more than {ANSWER_BYTES_MAX} bytes"));
        }
        if let Some(message) = rest.get(..length) {
            return Ok(message.to_vec());
        }
    }
    let trailers = body.trailers().await.map_err(|error| error.to_string())?;
    let reason = trailers.as_ref().and_then(refusal);
    Err(reason.unwrap_or_else(|| "it ended without an answer".to_owned()))
}

/// Why the agent does not answer, when it says so.
fn refusal(headers: &HeaderMap) -> Option<String> {
    let word =
        |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let code = word("grpc-status").filter(|code| code != "0")?;
    let words: String =
        word("grpc-message").unwrap_or_default().chars().take(WORDS_CHARS_MAX).collect();
    Some(match (code.as_ref(), words.is_empty()) {
        ("7", true) => "it has no identity for this program".to_owned(),
        (code, true) => format!("it answered with the status {code}"),
        (code, false) => format!("it answered with the status {code}: {words}"),
    })
}

/// One identity of an answer; certificates stand one after the other.
#[derive(Default)]
struct Svid<'a> {
    id: &'a [u8],
    chain: &'a [u8],
    key: &'a [u8],
    bundle: &'a [u8],
}

impl<'a> Svid<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut svid = Self::default();
        for field in Fields(bytes) {
            match field? {
                (1, id) => svid.id = id,
                (2, chain) => svid.chain = chain,
                (3, key) => svid.key = key,
                (4, bundle) => svid.bundle = bundle,
                _ => {}
            }
        }
        Ok(svid)
    }
}

/// The fields of a protobuf message: their numbers, and the bytes of those that have bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "its answer cannot be read".to_owned()))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, &'a [u8])> {
        let tag = self.varint()?;
        let length = match tag & 7 {
            0 => self.varint().map(|_| 0)?,
            1 => 8,
            2 => usize::try_from(self.varint()?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some((tag >> 3, bytes))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

/// Certificates that stand one after the other.
fn certificates(mut bytes: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (rest, _) = X509Certificate::from_der(bytes).ok()?;
        let own = bytes.get(..bytes.len() - rest.len())?;
        found.push(CertificateDer::from(own.to_vec()));
        bytes = rest;
    }
    Some(found)
}
