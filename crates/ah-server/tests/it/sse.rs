//! A session's log as a stream, and as long polls.

use std::net::SocketAddr;
use std::thread;

use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};
use crate::stream::{Frame, Stream};

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

#[test]
fn a_stream_replays_the_log_and_goes_on_with_what_is_appended() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"note","data":{"b":1.00}},{"type":"two\nlines"}"#);
    let mut stream = Stream::open(address, "/sessions/s1/events", &[]);
    let first = stream.text().unwrap();
    let page = get(address, "/sessions/s1/events?limit=1").body;
    let stored = String::from_utf8(page).unwrap();
    let stored = stored.strip_prefix(r#"{"items":["#).unwrap().strip_suffix("]}").unwrap();
    assert_eq!(first, format!("id: 1\nevent: note\ndata: {stored}"));
    let Frame { id, name: kind, data } = stream.frame();
    assert_eq!((id.as_str(), kind.as_str()), ("2", "two lines"));
    assert_eq!(data["type"], "two\nlines");
    append(address, r#"{"type":"later","dedupKey":"k"}"#);
    let Frame { id, name: kind, data } = stream.frame();
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
    let Frame { id, name: kind, data: problem } = stream.frame();
    assert_eq!((id.as_str(), kind.as_str()), ("", "problem"));
    assert_eq!((&problem["code"], &problem["id"]), (&"not-found".into(), &"s1".into()));
    assert_eq!(stream.text(), None);
}

#[test]
fn a_stream_ends_when_the_server_stops() {
    let mut server = server();
    append(server.address(), r#"{"type":"a"}"#);
    let mut stream = Stream::open(server.address(), "/sessions/s1/events", &[]);
    assert_eq!(stream.ids(1), ["1"]);
    server.stop();
    assert_eq!(stream.text(), None);
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
fn a_thousand_streams_get_every_event_once() {
    let server = server();
    let address = server.address();
    append(address, r#"{"type":"a"},{"type":"b"}"#);
    let mut streams: Vec<_> =
        (0..1_000).map(|_| Stream::open(address, "/sessions/s1/events", &[])).collect();
    for _ in 0..10 {
        append(address, r#"{"type":"c"}"#);
        append(address, r#"{"type":"d"},{"type":"e"}"#);
    }
    let ids: Vec<String> = (1..=32).map(|seq| seq.to_string()).collect();
    for stream in &mut streams {
        assert_eq!(stream.ids(32), ids);
    }
}

#[test]
fn readers_that_come_while_the_log_grows_miss_nothing_and_see_nothing_twice() {
    let server = server();
    let address = server.address();
    const EVENTS: u64 = 300;
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            (0..EVENTS).for_each(|_| append(address, r#"{"type":"a"}"#));
        });
        let readers: Vec<_> = (0..12)
            .map(|number| {
                scope.spawn(move || {
                    let after = number * 20;
                    let path = format!("/sessions/s1/events?after={after}");
                    let mut stream = Stream::open(address, &path, &[]);
                    let ids: Vec<String> = (after + 1..=EVENTS).map(|s| s.to_string()).collect();
                    assert_eq!(stream.ids(ids.len()), ids);
                })
            })
            .collect();
        writer.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn an_event_too_large_to_be_held_for_readers_comes_in_its_place() {
    let server = server();
    let address = server.address();
    let mut stream = Stream::open(address, "/sessions/s1/events", &[]);
    append(address, r#"{"type":"before"}"#);
    assert_eq!(stream.frame().name, "before");
    let payload = "x".repeat(3 * 1024 * 1024);
    append(address, &format!(r#"{{"type":"large","data":"{payload}"}}"#));
    assert_eq!(stream.frame().name, "large");
    append(address, r#"{"type":"behind"}"#);
    assert_eq!(stream.frame().name, "behind");
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
