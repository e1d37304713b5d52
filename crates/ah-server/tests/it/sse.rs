//! A session's log as a stream, and as long polls.

use std::net::SocketAddr;
use std::thread;

use serde_json::Value;

use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};

const SESSION: &str = r#"{"id":"s1","agent":{"type":"codex","version":"1"},
    "repo":{"vcs":"git","rootPath":"/r","remoteUrl":null,"defaultBranch":null}}"#;

fn server() -> SqliteServer {
    let server = SqliteServer::new();
    assert_eq!(ask(server.address(), "POST", "/sessions", SESSION).status, 201);
    server
}

fn append(address: SocketAddr, events: &str) {
    let body = format!(r#"{{"events":[{events}]}}"#);
    assert_eq!(ask(address, "POST", "/sessions/s1/events", &body).status, 201);
}

/// A stream and what of it was not yet read.
struct Stream {
    connection: Connection,
    rest: String,
}

impl Stream {
    fn open(address: SocketAddr, path: &str, headers: &[&str]) -> Self {
        let mut connection = Connection::open(address);
        let headers = [&["accept: text/html, text/event-stream;q=0.9"], headers].concat();
        connection.send(request("GET", &format!("/api/v1{path}"), &headers, ""));
        let head = connection.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-cache"));
        Self { connection, rest: String::new() }
    }

    /// The next frame; none at the end.
    fn frame(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let frame = frame.to_owned();
                self.rest = rest.to_owned();
                return Some(frame);
            }
            self.rest.push_str(&self.connection.chunk()?);
        }
    }

    /// Id, name and data of the next event.
    fn event(&mut self) -> (String, String, Value) {
        let frame = self.frame().unwrap();
        let field = |name: &str| {
            let line = frame.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let data = serde_json::from_str(&field("data: ")).unwrap();
        (field("id: "), field("event: "), data)
    }

    fn ids(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.event().0).collect()
    }
}

#[test]
fn a_stream_replays_the_log_and_goes_on_with_what_is_appended() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"note","data":{"b":1.00}},{"type":"two\nlines"}"#);
    let mut stream = Stream::open(address, "/sessions/s1/events", &[]);
    let first = stream.frame().unwrap();
    let page = get(address, "/sessions/s1/events?limit=1").body;
    let stored = String::from_utf8(page).unwrap();
    let stored = stored.strip_prefix(r#"{"items":["#).unwrap().strip_suffix("]}").unwrap();
    assert_eq!(first, format!("id: 1\nevent: note\ndata: {stored}"));
    let (id, kind, data) = stream.event();
    assert_eq!((id.as_str(), kind.as_str()), ("2", "two lines"));
    assert_eq!(data["type"], "two\nlines");
    append(address, r#"{"type":"later","dedupKey":"k"}"#);
    let (id, kind, data) = stream.event();
    assert_eq!((id.as_str(), kind.as_str()), ("3", "later"));
    assert_eq!(data["dedupKey"], "k");
}

#[test]
fn a_stream_begins_behind_the_last_event_that_its_client_has() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"a"},{"type":"b"},{"type":"a"},{"type":"c"}"#);
    let mut stream = Stream::open(address, "/sessions/s1/events?after=2", &[]);
    assert_eq!(stream.ids(2), ["3", "4"]);
    let back = ["last-event-id: 3"];
    let mut stream = Stream::open(address, "/sessions/s1/events?after=1", &back);
    assert_eq!(stream.ids(1), ["4"]);
    let mut stream = Stream::open(address, "/sessions/s1/events?type=a&type=c", &[]);
    assert_eq!(stream.ids(3), ["1", "3", "4"]);
    let mut connection = Connection::open(address);
    let headers = ["accept: text/event-stream", "last-event-id: x"];
    connection.send(request("GET", "/api/v1/sessions/s1/events", &headers, ""));
    assert_eq!(connection.reply().problem(), "422 invalid Last-Event-ID");
}

#[test]
fn a_stream_of_what_is_not_there_is_a_problem() {
    let server = server();
    let mut connection = Connection::open(server.address());
    let headers = ["accept: text/event-stream"];
    connection.send(request("GET", "/api/v1/sessions/none/events", &headers, ""));
    assert_eq!(connection.reply().problem(), "404 not-found");
}

#[test]
fn a_stream_ends_with_its_session() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"a"}"#);
    let mut stream = Stream::open(address, "/sessions/s1/events", &[]);
    assert_eq!(stream.ids(1), ["1"]);
    assert_eq!(ask(address, "DELETE", "/sessions/s1", "").status, 204);
    let (id, kind, problem) = stream.event();
    assert_eq!((id.as_str(), kind.as_str()), ("", "problem"));
    assert_eq!((&problem["code"], &problem["id"]), (&"not-found".into(), &"s1".into()));
    assert_eq!(stream.frame(), None);
}

#[test]
fn a_stream_ends_when_the_server_stops() {
    let mut server = server();
    append(server.address(), r#"{"type":"a"}"#);
    let mut stream = Stream::open(server.address(), "/sessions/s1/events", &[]);
    assert_eq!(stream.ids(1), ["1"]);
    server.stop();
    assert_eq!(stream.frame(), None);
}

#[test]
fn a_slow_reader_loses_nothing() {
    let server = server();
    let address = server.address();
    let mut stream = Stream::open(address, "/sessions/s1/events", &[]);
    let payload = "x".repeat(100_000);
    for _ in 0..20 {
        append(address, &vec![format!(r#"{{"type":"a","data":"{payload}"}}"#); 20].join(","));
    }
    let ids: Vec<String> = (1..=400).map(|seq| seq.to_string()).collect();
    assert_eq!(stream.ids(400), ids);
}

#[test]
fn a_long_poll_answers_at_once_or_when_something_comes() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"a"}"#);
    let seqs = |path: &str| {
        let items = get(address, path).json()["items"].take();
        let items = items.as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap());
        items.collect::<Vec<_>>()
    };
    assert_eq!(seqs("/sessions/s1/events?wait=60"), [1]);
    assert_eq!(seqs("/sessions/s1/events?after=1&wait=0"), Vec::<u64>::new());
    thread::scope(|scope| {
        let poll = scope.spawn(|| seqs("/sessions/s1/events?after=1&wait=60&type=c"));
        // Another type is no news for this poll.
        append(address, r#"{"type":"b"}"#);
        append(address, r#"{"type":"c"}"#);
        assert_eq!(poll.join().unwrap(), [3]);
    });
    assert_eq!(get(address, "/sessions/none/events?wait=60").problem(), "404 not-found");
}

#[test]
fn a_long_poll_ends_with_its_session() {
    let server = server();
    let address = server.address();
    thread::scope(|scope| {
        let poll = scope.spawn(|| get(address, "/sessions/s1/events?wait=60").problem());
        assert_eq!(ask(address, "DELETE", "/sessions/s1", "").status, 204);
        assert_eq!(poll.join().unwrap(), "404 not-found");
    });
}
