//! What an idle link costs an access point: memory of the process, over QUIC and over TCP.
//!
//! `cargo bench -p ah-access --bench links -- [COUNT]`; 1,000 unless told, 10,000 at most. The
//! executors are in a process of their own, so that only the access point is measured. What the
//! kernel keeps for sockets is not counted. A figure is never asserted here.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ah_access::ca::{Authority, Issue};
use ah_access::frame::{Frame, Goodbye, GoodbyeReason, Lane};
use ah_access::identity::{FilesProvider, Provider};
use ah_access::link::{Dialer, Limits, Link, Listener, Receiver, Sender, Transports, Way};
use ah_access::peer::{PeerPolicy, PeerSide};
use ah_access::tls::Terms;
use ah_store::{Clock, SystemClock, SystemIds};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

const COUNT: usize = 1_000;
const COUNT_MAX: usize = 10_000;
/// Files that are open besides those of links.
const OTHER_FILES: u64 = 64;
/// Handshakes at a time; more would only measure what they need.
const AT_A_TIME: usize = 16;
const GOAL_KB: f64 = 50.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["dial", place, host, way, count] => dial(Path::new(place), host, way, count),
        ["listen", place, way, count] => listen(Path::new(place), way, count.parse().unwrap()),
        words => {
            let count = words.iter().find_map(|word| word.parse().ok()).unwrap_or(COUNT);
            measure(count.min(COUNT_MAX));
        }
    }
}

fn measure(count: usize) {
    let place = TempDir::new().unwrap();
    let authority = place.path().join("ca");
    let now = SystemClock.now();
    let authority = Authority::init(&authority, "example.org".parse().unwrap(), 30, now).unwrap();
    for (node, side) in [("server", PeerSide::Server), ("executor", PeerSide::Executor)] {
        let out = place.path().join(node);
        let issue = Issue { node, side, days: 1, out: &out };
        authority.issue(&issue, now, &SystemIds).unwrap();
    }
    for way in ["quic", "tcp"] {
        // In a process of its own: memory that another one has freed would be used again.
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("listen").arg(place.path()).arg(way).arg(count.to_string());
        assert!(command.status().unwrap().success());
    }
}

fn listen(place: &Path, way: &str, count: usize) {
    raise_open_files(count);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure_way(place, way, count));
}

/// Accepts so many links, lets them be idle, and compares the memory with that of one link.
async fn measure_way(place: &Path, way: &str, count: usize) {
    let limits = Limits {
        connections_max: COUNT_MAX + 1,
        handshakes_max: 8 * AT_A_TIME,
        handshakes_per_address_max: 8 * AT_A_TIME,
        ..Limits::listener()
    };
    let address = "127.0.0.1:0".parse().unwrap();
    let terms = terms(place, "server", PeerSide::Executor);
    let listener = Listener::bind(address, Transports::Both, terms, limits).unwrap();
    let mut executors = Executors::start(place, &listener, way, count + 1);
    // What is made once is no link's.
    let mut links = vec![accept(&listener).await];
    let before = resident_bytes();
    while links.len() <= count {
        links.push(accept(&listener).await);
    }
    executors.wait_until_idle().await;
    let cost = resident_bytes().saturating_sub(before) / count;
    let kb = cost as f64 / 1_000.0;
    println!("{count} idle links over {way}: {kb:.1} kB each (goal: less than {GOAL_KB})");
    executors.0.kill().unwrap();
    executors.0.wait().unwrap();
}

/// A link with its control stream, on which a frame has come.
async fn accept(listener: &Listener) -> (Link, Sender, Receiver) {
    let link = listener.accept().await.unwrap();
    let (send, mut receive) = link.accept(&[Lane::ExecutorControl]).await.unwrap();
    receive.next().await.unwrap();
    (link, send, receive)
}

/// The process of the executors.
struct Executors(Child);

impl Executors {
    fn start(place: &Path, listener: &Listener, way: &str, count: usize) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("dial").arg(place).arg(listener.address().to_string());
        command.arg(way).arg(count.to_string()).stdout(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Waits for the word that all have said what they had to, and for the last acknowledgements.
    async fn wait_until_idle(&mut self) {
        let mut output = self.0.stdout.take().unwrap();
        let told = tokio::task::spawn_blocking(move || output.read_exact(&mut [0]));
        told.await.unwrap().unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Dials so many times, then does nothing until it is killed.
fn dial(place: &Path, host: &str, way: &str, count: &str) {
    let count: usize = count.parse().unwrap();
    raise_open_files(count);
    let way = match way {
        "quic" => Way::Quic,
        _ => Way::Tcp,
    };
    let terms = terms(place, "executor", PeerSide::Server);
    let (dialer, host) = (Arc::new(Dialer::new(Limits::dialer())), host.to_owned());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async move {
        let (mut tasks, mut links) = (JoinSet::new(), Vec::new());
        for _ in 0..count {
            if tasks.len() >= AT_A_TIME {
                links.push(tasks.join_next().await.unwrap().unwrap());
            }
            let (dialer, terms, host) = (Arc::clone(&dialer), Arc::clone(&terms), host.clone());
            tasks.spawn(async move { hello(dialer.dial(&host, way, &terms).await.unwrap()).await });
        }
        links.extend(tasks.join_all().await);
        std::io::stdout().write_all(b".").unwrap();
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
}

async fn hello(link: Link) -> (Link, Sender, Receiver) {
    let (mut send, receive) = link.open(&[Lane::ServerControl]).await.unwrap();
    let frame = Goodbye { reason: GoodbyeReason::Drained, detail: None, retry_after_ms: None };
    send.send(&Frame::from(frame)).await.unwrap();
    (link, send, receive)
}

fn terms(place: &Path, node: &str, lets_in: PeerSide) -> Arc<Terms> {
    let place = place.join(node);
    let [chain, key, roots] = ["chain.pem", "key.pem", "roots.pem"].map(|name| place.join(name));
    let identity = FilesProvider { chain, key, roots }.load(SystemClock.now()).unwrap();
    let policy = PeerPolicy::new(lets_in, &identity.roots).unwrap();
    Arc::new(Terms {
        identity: Arc::new(identity),
        policy: Arc::new(policy.trust_domain("example.org".parse().unwrap())),
        clock: Arc::new(SystemClock),
        on_refusal: Arc::new(|peer| panic!("{peer:?}")),
    })
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
