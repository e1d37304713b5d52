//! What only time brings about. The clock of these tests jumps whenever everybody waits, so an hour
//! of silence takes no time. Bytes on their way are not seen as work, so it may jump once more while
//! an answer travels: what is measured has room for that.

use std::ops::RangeInclusive;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{NewRepo, NewRun, NewSession, RawJson, RunKind, Vcs};
use ah_server::{HEARTBEAT, ServerState, serve};
use ah_store::{Capabilities, Ids, Runs, Sessions};
use ah_store_sql::{SqlStore, SqliteOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// Keeps the clock from jumping until it is dropped.
struct Held(#[expect(dead_code, reason = "its end is the signal")] mpsc::Sender<()>);

fn hold() -> Held {
    let (sender, receiver) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || receiver.recv().is_ok());
    Held(sender)
}

struct Server {
    address: String,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
    _directory: tempfile::TempDir,
}

impl Server {
    /// A server with the session `s1` and its run `r1`, on the runtime of the test.
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let (clock, ids) = (Arc::new(TestClock::new()), Ids::new(Box::new(SeededIds::new(1))));
        let capabilities = Capabilities { workspaces: true };
        let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
        store.create_session(session()).await.unwrap();
        let run = NewRun::new("s1".parse().unwrap(), RunKind::Start, RawJson::null());
        let run = NewRun { id: Some("r1".parse().unwrap()), ..run };
        store.create_run(gpu(run)).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let state = ServerState::new(Arc::new(store)).sweeping_after(None);
        let served = tokio::spawn(serve(listener, state, stopped));
        Self { address, stop, served, _directory: directory }
    }

    /// Sends `bytes` on a connection of their own; they have arrived when time goes on.
    async fn send(&self, bytes: &str) -> TcpStream {
        let _held = hold();
        let connection = self.write(bytes).await;
        // Somebody who came later has been answered.
        let mut later = self.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert!(read(&mut later).await.starts_with("HTTP/1.1 200"));
        connection
    }

    async fn write(&self, bytes: &str) -> TcpStream {
        let mut connection = TcpStream::connect(&self.address).await.unwrap();
        connection.write_all(bytes.as_bytes()).await.unwrap();
        connection
    }

    async fn get(&self, path: &str, header: &str) -> TcpStream {
        self.send(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{header}\r\n")).await
    }
}

/// A run that no executor of these tests can take.
fn gpu(mut run: NewRun) -> NewRun {
    run.demands.tags = vec!["gpu".to_owned()];
    run
}

fn session() -> NewSession {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::Git, root_path, remote_url: None, default_branch: None };
    let id = Some("s1".parse().unwrap());
    NewSession { id, ..NewSession::new(repo, "codex".parse().unwrap()) }
}

/// What comes next; nothing when the connection is closed.
async fn read(connection: &mut TcpStream) -> String {
    let mut bytes = vec![0; 64 * 1024];
    let count = connection.read(&mut bytes).await.unwrap_or(0);
    bytes.truncate(count);
    String::from_utf8(bytes).unwrap()
}

fn assert_took(since: Instant, seconds: RangeInclusive<u64>) {
    let took = since.elapsed().as_secs();
    assert!(seconds.contains(&took), "{took} s");
}

#[tokio::test(start_paused = true)]
async fn a_stream_says_that_it_lives() {
    let server = Server::start().await;
    let mut stream =
        server.get("/api/v1/sessions/s1/events", "accept: text/event-stream\r\n").await;
    let mut said = String::new();
    let since = Instant::now();
    while said.matches("\r\n:\n\n\r\n").count() < 100 {
        said.push_str(&read(&mut stream).await);
    }
    assert_eq!(HEARTBEAT, Duration::from_secs(15));
    assert_took(since, 99 * 15..=105 * 15);
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_answers_with_nothing_when_its_time_is_over() {
    let server = Server::start().await;
    let since = Instant::now();
    let mut poll = server.get("/api/v1/sessions/s1/events?wait=60", "").await;
    assert!(read(&mut poll).await.ends_with("\r\n\r\n{\"items\":[]}"));
    assert_took(since, 60..=120);
}

#[tokio::test(start_paused = true)]
async fn a_narrowed_stream_says_its_place_while_nothing_that_is_wanted_happens() {
    let server = Server::start().await;
    let path = "/api/v1/feed?types=nothing";
    let mut stream = server.get(path, "accept: text/event-stream\r\n").await;
    let mut said = String::new();
    while !said.contains("\n:\nid: 0-2\n\n") {
        let part = read(&mut stream).await;
        assert!(!part.is_empty(), "{said}");
        said.push_str(&part);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_answers_with_no_run_when_its_time_is_over() {
    let server = Server::start().await;
    let since = Instant::now();
    let body = r#"{"executorId":"e1","leaseMs":1000}"#;
    let length = body.len();
    let head = "POST /api/v1/runs/claim?wait=30 HTTP/1.1\r\nhost: localhost\r\n";
    let claim = format!("{head}content-length: {length}\r\n\r\n{body}");
    assert!(read(&mut server.send(&claim).await).await.ends_with("\r\n\r\n{\"run\":null}"));
    assert_took(since, 30..=60);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_run_answers_with_the_run_as_it_is_when_its_time_is_over() {
    let server = Server::start().await;
    let since = Instant::now();
    let mut poll = server.get("/api/v1/runs/r1/wait?seconds=20", "").await;
    assert!(read(&mut poll).await.contains("\"status\":\"pending\""));
    assert_took(since, 20..=40);
}

#[tokio::test(start_paused = true)]
async fn a_long_poll_answers_at_once_when_the_server_stops() {
    let server = Server::start().await;
    let since = Instant::now();
    let mut poll = server.get("/api/v1/sessions/s1/events?wait=60", "").await;
    sleep(Duration::from_secs(5)).await;
    drop(server.stop);
    assert!(read(&mut poll).await.ends_with("\r\n\r\n{\"items\":[]}"));
    server.served.await.unwrap().unwrap();
    assert_took(since, 5..=30);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_end_keeps_the_server_from_stopping_for_ten_seconds_only() {
    let server = Server::start().await;
    let head = "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let _connection = server.send(head).await;
    sleep(Duration::from_secs(1)).await;
    let since = Instant::now();
    drop(server.stop);
    server.served.await.unwrap().unwrap();
    assert_took(since, 10..=11);
}

#[tokio::test(start_paused = true)]
async fn connections_that_ask_nothing_are_closed_after_a_minute() {
    let server = Server::start().await;
    for head in ["", "GET /heal", "GET /healthz HTTP/1.1\r\nhost: localhost\r\n"] {
        let since = Instant::now();
        let mut connection = server.send(head).await;
        assert_eq!(read(&mut connection).await, "");
        assert_took(since, 59..=120);
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_trickles_in_is_not_waited_for() {
    let server = Server::start().await;
    let since = Instant::now();
    let mut connection = server.send("GET /").await;
    while connection.write_all(b"x").await.is_ok() {
        sleep(Duration::from_secs(10)).await;
        assert_took(since, 0..=120);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_is_a_problem() {
    let server = Server::start().await;
    let since = Instant::now();
    let head = "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{";
    let answer = read(&mut server.send(head).await).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    assert_took(since, 30..=60);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_the_coordinator_says_that_it_lives() {
    let server = Server::start().await;
    let mut stream = server.get("/coordinator/sse/sessions", "").await;
    let mut said = String::new();
    let since = Instant::now();
    while said.matches(": heartbeat\n\n").count() < 100 {
        said.push_str(&read(&mut stream).await);
    }
    assert_took(since, 99 * 30..=105 * 30);
}

#[tokio::test(start_paused = true)]
async fn a_runner_of_the_coordinator_is_answered_with_nothing_after_half_a_minute() {
    let server = Server::start().await;
    let body = r#"{"hostname":"h","project_dir":"/p","executor_profile":"e"}"#;
    let head = "POST /coordinator/runner/register HTTP/1.1\r\nhost: localhost";
    let length = body.len();
    let answer =
        read(&mut server.send(&format!("{head}\r\ncontent-length: {length}\r\n\r\n{body}")).await)
            .await;
    let id = answer.split_once("lnch_").map(|(_, rest)| &rest[..12]).unwrap();
    let since = Instant::now();
    let mut poll = server.get(&format!("/coordinator/runner/runs?runner_id=lnch_{id}"), "").await;
    assert!(read(&mut poll).await.starts_with("HTTP/1.1 204"));
    assert_took(since, 30..=60);
}
