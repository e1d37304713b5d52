//! What executors that are connected and give signs of life cost an access point over SQLite: memory
//! of its process for each, and its share of a core.
//!
//! `cargo bench -p ah-access --bench fleet -- [COUNT]`; 1,000 unless told, 10,000 at most. The
//! executors are in a process of their own. What the kernel keeps for sockets is not counted. A
//! figure is never asserted here.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ah_access::frame::{
    ConnectionConfig, Frame, Heartbeat, Hello, Lane, Load, Outbox as HelloOutbox,
};
use ah_access::identity::{FilesProvider, Identity, Provider};
use ah_access::link::{Dialer, Limits, Listener, Transports, Way};
use ah_access::peer::{PeerId, PeerPolicy, PeerSide};
use ah_access::point::{AccessPoint, PointOptions};
use ah_access::tls::Terms;
use ah_model::{Offer, RawJson};
use ah_store::{Capabilities, Clock, Ids, SystemClock, SystemIds};
use ah_store_sql::{SqlStore, SqliteOptions};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

const COUNT: usize = 1_000;
const COUNT_MAX: usize = 10_000;
const HEARTBEAT_MS: u64 = 5_000;
/// Handshakes at a time.
const AT_A_TIME: usize = 32;
/// How long is measured, after everybody has come to rest.
const REST: Duration = Duration::from_secs(10);
const MEASURED: Duration = Duration::from_secs(20);
const OTHER_FILES: u64 = 128;
const GOAL_KB: f64 = 50.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["beat", place, count] => beat(Path::new(place), count.parse().unwrap()),
        words => {
            let count = words.iter().find_map(|word| word.parse().ok()).unwrap_or(COUNT);
            measure(count.min(COUNT_MAX));
        }
    }
}

fn measure(count: usize) {
    raise_open_files(count);
    let place = TempDir::new().unwrap();
    let mut fleet = Fleet::start(place.path(), count);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let limits = Limits {
            handshakes_max: 8 * AT_A_TIME,
            handshakes_per_address_max: 8 * AT_A_TIME,
            ..Limits::listener()
        };
        let terms = server_terms(place.path());
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(address, Transports::Both, terms, limits).unwrap();
        let address = listener.address();
        let store = store(&place.path().join("state.db"));
        let point = AccessPoint::new(Arc::new(listener), store, Arc::new(SystemClock), options());
        let handle = point.handle();
        tokio::spawn(point.serve(std::future::pending()));
        let before = resident_bytes();
        let began = Instant::now();
        fleet.go(&address.to_string());
        loop {
            let (_, present) = handle.view().await.unwrap();
            if present.len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let arrived = began.elapsed();
        tokio::time::sleep(REST).await;
        let (counts, _) = handle.view().await.unwrap();
        let (beats, cpu, at) = (counts.beats, cpu_seconds(), Instant::now());
        tokio::time::sleep(MEASURED).await;
        let share = (cpu_seconds() - cpu) / at.elapsed().as_secs_f64();
        let (counts, present) = handle.view().await.unwrap();
        let beats = (counts.beats - beats) as f64 / at.elapsed().as_secs_f64();
        let kb = resident_bytes().saturating_sub(before) as f64 / count as f64 / 1_000.0;
        println!(
            "{count} executors: {} present, all came within {:.1} s; {beats:.0} heartbeats/s",
            present.len(),
            arrived.as_secs_f64()
        );
        println!("memory: {kb:.1} kB each (goal: at most {GOAL_KB})");
        println!("cpu: {share:.2} of a core (goal: at most 1)");
    });
    fleet.0.kill().unwrap();
    fleet.0.wait().unwrap();
}

fn store(path: &Path) -> Arc<SqlStore> {
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: false };
    let clock = Arc::new(SystemClock);
    let opened =
        SqlStore::open_sqlite(SqliteOptions::new(path.to_owned()), capabilities, clock, ids);
    Arc::new(opened.unwrap().0)
}

fn options() -> PointOptions {
    PointOptions {
        server_id: "bench".to_owned(),
        boot: [1; 6],
        connection: ConnectionConfig {
            heartbeat_ms: HEARTBEAT_MS,
            heartbeats_missed_max: 6,
            lease_ms: 300_000,
            requests_max: 128,
            reports_max: 4,
        },
        hello_ms: 10_000,
        request_ms: 30_000,
        grace_ms: 10_000,
        look_ms: 15_000,
        audit_ms: 60_000,
    }
}

/// The process of the executors, which is also the authority.
struct Fleet(Child);

impl Fleet {
    fn start(place: &Path, count: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("beat").arg(place).arg(count.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self(child)
    }

    fn go(&mut self, address: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{address}").unwrap();
    }
}

struct Ca {
    issuer: Issuer<'static, KeyPair>,
    root: CertificateDer<'static>,
    root_pem: String,
}

impl Ca {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let (root, root_pem) = (certificate.der().clone(), certificate.pem());
        Self { issuer: Issuer::new(params, key), root, root_pem }
    }

    fn issue(&self, uri: &str, usage: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn executor(&self, id: &str) -> Arc<Terms> {
        let (chain, key) = self.issue(id, ExtendedKeyUsagePurpose::ClientAuth);
        let now = SystemClock.now();
        let identity = Identity {
            chain: vec![CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()],
            key: PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            roots: vec![self.root.clone()],
            id: PeerId::Named(id.to_owned()),
            not_before: now,
            not_after: now,
            serial: String::new(),
        };
        terms(identity, PeerSide::Server)
    }
}

fn terms(identity: Identity, lets_in: PeerSide) -> Arc<Terms> {
    let policy = PeerPolicy::new(lets_in, &identity.roots).unwrap();
    Arc::new(Terms {
        identity: Arc::new(identity),
        policy: Arc::new(policy.trust_domain("example.org".parse().unwrap())),
        clock: Arc::new(SystemClock),
        on_refusal: Arc::new(|peer| panic!("{peer:?}")),
    })
}

fn server_terms(place: &Path) -> Arc<Terms> {
    let [chain, key, roots] = ["chain.pem", "key.pem", "roots.pem"].map(|name| place.join(name));
    let identity = FilesProvider { chain, key, roots }.load(SystemClock.now()).unwrap();
    terms(identity, PeerSide::Executor)
}

/// So many executors that do nothing but live.
fn beat(place: &Path, count: usize) {
    use std::os::unix::fs::OpenOptionsExt;
    raise_open_files(count);
    let ca = Ca::new();
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    let (chain, key) = ca.issue("spiffe://example.org/ah/serve", server);
    for (name, text) in [("chain.pem", &chain), ("key.pem", &key), ("roots.pem", &ca.root_pem)] {
        let mut file = std::fs::File::options();
        let file = file.create(true).write(true).truncate(true).mode(0o600);
        file.open(place.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    }
    std::io::stdout().write_all(b".").unwrap();
    std::io::stdout().flush().unwrap();
    let mut host = String::new();
    std::io::stdin().lock().read_line(&mut host).unwrap();
    let host: Arc<str> = host.trim().into();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let dialer = Arc::new(Dialer::new(Limits::dialer()));
        let places = Arc::new(Semaphore::new(AT_A_TIME));
        for number in 0..count {
            let id = format!("spiffe://example.org/ah/agent/node-{number}");
            let place = Arc::clone(&places).acquire_owned().await.unwrap();
            let terms = ca.executor(&id);
            let (dialer, host) = (Arc::clone(&dialer), Arc::clone(&host));
            tokio::spawn(async move {
                let link = dialer.dial(&host, Way::Quic, &terms).await.unwrap();
                let (mut send, mut receive) = link.open(&[Lane::ServerControl]).await.unwrap();
                send.send(&hello(&id)).await.unwrap();
                let ack = receive.next().await.unwrap().unwrap();
                assert!(matches!(ack, Frame::Ack(_)), "{ack:?}");
                drop(place);
                for beat in 1.. {
                    send.send(&heartbeat(beat)).await.unwrap();
                    let ack = receive.next().await.unwrap().unwrap();
                    assert!(matches!(ack, Frame::HeartbeatAck(_)), "{ack:?}");
                    tokio::time::sleep(Duration::from_millis(HEARTBEAT_MS)).await;
                }
            });
        }
        std::future::pending::<()>().await;
    });
}

fn hello(id: &str) -> Frame {
    let hello = Hello {
        protocol: 1,
        executor_id: id.parse().unwrap(),
        software: "bench".to_owned(),
        identity_provider: "files".to_owned(),
        offer: Offer::default(),
        machine: None,
        details: RawJson::null(),
        capacity: 4,
        outbox: HelloOutbox { id: "outbox".parse().unwrap(), last_seq: 0 },
        held: Vec::new(),
    };
    Frame::from(hello)
}

fn heartbeat(beat: u64) -> Frame {
    let load = Load {
        cpu: Some(0.5),
        memory_free_bytes: Some(1 << 30),
        storage_free_bytes: Some(1 << 40),
    };
    let (sent_at, uptime_ms, held) = (SystemClock.now(), beat * HEARTBEAT_MS, Vec::new());
    Frame::from(Heartbeat { beat, sent_at, uptime_ms, load, held })
}

fn raise_open_files(count: usize) {
    let wanted = u64::try_from(count).unwrap() + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let enough = limit.maximum.is_none_or(|maximum| maximum >= wanted);
    assert!(enough, "{wanted} open files are needed; see `ulimit -Hn`");
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).unwrap();
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1_024
}

/// Time that this process was at work, on all cores.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}
