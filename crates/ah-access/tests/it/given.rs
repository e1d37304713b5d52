//! Authorities and certificates of every sort, also of those that `ah ca` would never make.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ah_access::identity::{FilesProvider, Identity, Provider};
use ah_access::peer::{PeerId, PeerPolicy, PeerSide, RefusedPeer};
use ah_access::tls::Terms;
use ah_model::Timestamp;
use ah_store::Clock;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;

pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// The time at which everything here happens: 2030-01-01.
pub(crate) fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().unwrap()
}

pub(crate) fn days(count: i64) -> Timestamp {
    now().minus_ms(-count * i64::try_from(DAY_MS).unwrap())
}

/// A clock that a test moves.
pub(crate) struct TestClock(pub(crate) Mutex<Timestamp>);

impl TestClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(now())))
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// An authority that issues what it is asked to.
pub(crate) struct Ca {
    pub(crate) issuer: Issuer<'static, KeyPair>,
    pub(crate) der: CertificateDer<'static>,
    pub(crate) pem: String,
}

/// What a certificate shall say.
#[derive(Clone)]
pub(crate) struct Leaf {
    pub(crate) names: Vec<SanType>,
    pub(crate) side: PeerSide,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) serial: u64,
}

pub(crate) fn uri(text: &str) -> SanType {
    SanType::URI(text.try_into().unwrap())
}

pub(crate) fn dns(text: &str) -> SanType {
    SanType::DnsName(text.try_into().unwrap())
}

impl Leaf {
    pub(crate) fn executor() -> Self {
        Self {
            names: vec![uri("spiffe://example.org/ah/agent/node-1")],
            side: PeerSide::Executor,
            from: days(-1),
            until: days(29),
            serial: 0x1234,
        }
    }

    pub(crate) fn server() -> Self {
        let names = vec![uri("spiffe://example.org/ah/serve")];
        Self { names, side: PeerSide::Server, ..Self::executor() }
    }

    pub(crate) fn node(node: &str) -> Self {
        Self::named(vec![uri(&format!("spiffe://example.org/ah/agent/{node}"))])
    }

    pub(crate) fn named(names: Vec<SanType>) -> Self {
        Self { names, ..Self::executor() }
    }
}

/// A certificate and its key, as PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Pair {
    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        CertificateDer::pem_slice_iter(self.certificate.as_bytes()).map(Result::unwrap).collect()
    }
}

fn since_epoch(time: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(time.unix_ms()).unwrap())
}

impl Ca {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let (der, pem) = (certificate.der().clone(), certificate.pem());
        Self { issuer: Issuer::new(params, key), der, pem }
    }

    pub(crate) fn issue(&self, leaf: &Leaf) -> Pair {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.serial_number = Some(SerialNumber::from(leaf.serial));
        params.subject_alt_names.clone_from(&leaf.names);
        params.not_before = date_time_ymd(1970, 1, 1) + since_epoch(leaf.from);
        params.not_after = date_time_ymd(1970, 1, 1) + since_epoch(leaf.until);
        params.extended_key_usages = vec![match leaf.side {
            PeerSide::Executor => ExtendedKeyUsagePurpose::ClientAuth,
            PeerSide::Server => ExtendedKeyUsagePurpose::ServerAuth,
        }];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Pair { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// An identity that this authority issued, and that trusts it.
    pub(crate) fn identity(&self, leaf: &Leaf) -> Identity {
        let files = Files::new(&self.issue(leaf), &self.pem);
        // As of a time when it was valid: what others say of it later is their matter.
        files.provider().load(leaf.from).unwrap()
    }

    /// As [`Self::identity`], also of what no provider would let this side use.
    pub(crate) fn unchecked(&self, leaf: &Leaf) -> Identity {
        let pair = self.issue(leaf);
        Identity {
            chain: pair.chain(),
            key: PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap(),
            roots: vec![self.der.clone()],
            id: PeerId::Named("unchecked".to_owned()),
            not_before: leaf.from,
            not_after: leaf.until,
            serial: format!("{:x}", leaf.serial),
        }
    }

    pub(crate) fn policy(&self, side: PeerSide) -> PeerPolicy {
        let policy = PeerPolicy::new(side, std::slice::from_ref(&self.der)).unwrap();
        policy.trust_domain("example.org".parse().unwrap())
    }
}

/// The three files of an identity, in a directory of their own.
pub(crate) struct Files {
    pub(crate) directory: TempDir,
}

impl Files {
    pub(crate) fn new(pair: &Pair, roots: &str) -> Self {
        let files = Self { directory: TempDir::new().unwrap() };
        files.write("roots.pem", roots);
        files.write_pair(pair);
        files
    }

    pub(crate) fn write_pair(&self, pair: &Pair) {
        self.write("chain.pem", &pair.certificate);
        self.write("key.pem", &pair.key);
        self.set_mode("key.pem", 0o600);
    }

    /// Replaces a file as programs that renew certificates do: whole.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let beside = self.path(".new");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, self.path(name)).unwrap();
    }

    pub(crate) fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn provider(&self) -> FilesProvider {
        provider(self.directory.path())
    }
}

/// The files that `ah ca issue` writes.
pub(crate) fn provider(directory: &Path) -> FilesProvider {
    FilesProvider {
        chain: directory.join("chain.pem"),
        key: directory.join("key.pem"),
        roots: directory.join("roots.pem"),
    }
}

/// What one side of a connection brings, and whom it did not let in.
pub(crate) struct Side {
    pub(crate) terms: Terms,
    pub(crate) refused: Arc<Mutex<Vec<RefusedPeer>>>,
}

impl Side {
    pub(crate) fn new(identity: Identity, policy: PeerPolicy, clock: Arc<TestClock>) -> Self {
        let refused = Arc::<Mutex<Vec<RefusedPeer>>>::default();
        let noted = Arc::clone(&refused);
        let on_refusal = move |peer: &RefusedPeer| noted.lock().unwrap().push(peer.clone());
        let terms = Terms {
            identity: Arc::new(identity),
            policy: Arc::new(policy),
            clock,
            on_refusal: Arc::new(on_refusal),
        };
        Self { terms, refused }
    }

    pub(crate) fn refusals(&self) -> Vec<&'static str> {
        self.refused.lock().unwrap().iter().map(|peer| peer.refusal.code()).collect()
    }
}
