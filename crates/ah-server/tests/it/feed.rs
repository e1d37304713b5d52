//! Everything that happens, as pages, polls and a stream.

use std::net::SocketAddr;
use std::thread;

use ah_conformance::Harness;
use ah_model::{FeedCursor, FeedEntry, Happening, PageLimit, RetentionRules, TokenRole};
use ah_store::block_on;
use serde_json::{Value, json};

use crate::given::{Waiting, new_session, queue};
use crate::guarded::{Guarded, agent};
use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};
use crate::stream::{Frame, Stream};

fn create(address: SocketAddr, id: &str) {
    assert_eq!(ask(address, "POST", "/sessions", &new_session(id).to_string()).status, 201);
}

fn append(address: SocketAddr, session: &str, kinds: &[&str]) {
    let events: Vec<Value> = kinds.iter().map(|kind| json!({ "type": kind })).collect();
    let body = json!({ "events": events }).to_string();
    assert_eq!(ask(address, "POST", &format!("/sessions/{session}/events"), &body).status, 201);
}

/// All of the feed, from the store.
fn stored(server: &SqliteServer) -> Vec<FeedEntry> {
    let mut all = Vec::new();
    let mut cursor = FeedCursor::default();
    loop {
        let page = block_on(server.store().feed(cursor, PageLimit::MAX)).unwrap();
        let Some(last) = page.last() else { return all };
        cursor = last.cursor;
        all.extend(page);
    }
}

/// What happened, whatever its place: events and changes, each in their order.
fn told(entries: impl IntoIterator<Item = FeedEntry>) -> (Vec<Happening>, Vec<Happening>) {
    let happenings = entries.into_iter().map(|entry| entry.happening);
    happenings.partition(|happening| matches!(happening, Happening::Event(_)))
}

fn entry(frame: Frame) -> FeedEntry {
    let entry: FeedEntry = serde_json::from_value(frame.data).unwrap();
    assert_eq!(frame.id, entry.cursor.to_string());
    entry
}

#[test]
fn a_stream_replays_the_feed_and_goes_on_with_what_happens() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    append(address, "s1", &["a"]);
    let mut stream = Stream::open(address, "/feed", &[]);
    let (first, second) = (stream.frame(), stream.frame());
    assert_eq!((first.name.as_str(), second.name.as_str()), ("session-created", "event"));
    assert_eq!(first.data["change"]["sessionId"], "s1");
    assert_eq!(second.data["event"]["type"], "a");
    queue(address, 2, json!({}));
    append(address, "s1", &["b"]);
    let names: Vec<String> = (0..3).map(|_| stream.frame().name).collect();
    assert_eq!(names, ["session-created", "run-queued", "event"]);
}

#[test]
fn a_stream_of_the_feed_begins_behind_the_last_entry_that_its_client_has() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    append(address, "s1", &["a", "b", "c", "d"]);
    let all = stored(&server);
    let mut stream = Stream::open(address, "/feed", &[]);
    let ids = stream.ids(all.len());
    for (index, id) in ids.iter().enumerate() {
        let back = format!("last-event-id: {id}");
        let mut stream = Stream::open(address, "/feed?after=0-0", &[&back]);
        append(address, "s1", &["later"]);
        let came: Vec<FeedEntry> =
            (index + 1..=all.len() + index).map(|_| entry(stream.frame())).collect();
        assert_eq!(told(came), told(stored(&server).into_iter().skip(index + 1)), "{id}");
    }
    let mut connection = Connection::open(address);
    let headers = ["accept: text/event-stream", "last-event-id: 7"];
    connection.send(request("GET", "/api/v1/feed", &headers, ""));
    assert_eq!(connection.reply().problem(), "422 invalid Last-Event-ID");
    assert_eq!(get(address, "/feed?after=x").problem(), "422 invalid cursor");
}

#[test]
fn a_stream_is_narrowed_to_sessions_and_to_types() {
    let server = SqliteServer::new();
    let address = server.address();
    ["s1", "s2", "s3"].iter().for_each(|id| create(address, id));
    let mut of_two = Stream::open(address, "/feed?session=s1&session=s3&types=event", &[]);
    let mut typed = Stream::open(address, "/feed?types=session-created&types=b", &[]);
    append(address, "s2", &["a", "b"]);
    append(address, "s1", &["a"]);
    append(address, "s3", &["b"]);
    let event = |frame: Frame| {
        let event = &frame.data["event"];
        format!("{} {}", event["sessionId"].as_str().unwrap(), event["type"].as_str().unwrap())
    };
    assert_eq!([event(of_two.frame()), event(of_two.frame())], ["s1 a", "s3 b"]);
    let created = |mut frame: Frame| frame.data["change"]["sessionId"].take();
    let sessions = [created(typed.frame()), created(typed.frame()), created(typed.frame())];
    assert_eq!(sessions, [json!("s1"), json!("s2"), json!("s3")]);
    assert_eq!([event(typed.frame()), event(typed.frame())], ["s2 b", "s3 b"]);
    let many = "session=x&".repeat(257);
    assert_eq!(get(address, &format!("/feed?{many}")).problem(), "422 invalid session");
}

#[test]
fn a_reader_is_told_what_is_no_longer_kept_however_narrow_it_is() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    append(address, "s1", &["a"]);
    server.clock().advance_ms(1_000);
    let rules = RetentionRules { changes_ms: Some(1), ..RetentionRules::KEEP };
    block_on(server.store().retention_step(rules)).unwrap();
    for query in ["", "?session=other", "?types=event&session=s1", "?wait=60&types=run-queued"] {
        let page = get(address, &format!("/feed{query}")).json();
        assert_eq!(page["items"][0]["change"]["kind"], "changes-trimmed", "{query}");
        let mut stream = Stream::open(address, &format!("/feed{query}"), &[]);
        assert_eq!(stream.frame().name, "changes-trimmed", "{query}");
    }
    let end = get(address, "/feed/end").json()["cursor"].take();
    let rest = get(address, &format!("/feed?after={}", end.as_str().unwrap())).json();
    assert_eq!(rest["items"], json!([]), "who has seen all has missed nothing");
}

#[test]
fn readers_that_come_while_things_happen_miss_nothing_and_see_nothing_twice() {
    let server = SqliteServer::new();
    let address = server.address();
    const ROUNDS: usize = 60;
    // Of each round: a session, a run, an event, and a title.
    const ENTRIES: usize = 4 * ROUNDS;
    let reads = || -> Vec<FeedEntry> {
        let mut stream = Stream::open(address, "/feed", &[]);
        (0..ENTRIES).map(|_| entry(stream.frame())).collect()
    };
    let came: Vec<Vec<FeedEntry>> = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..ROUNDS {
                queue(address, number, json!({}));
                append(address, &format!("s{number}"), &["a"]);
                let path = format!("/sessions/s{number}/title");
                assert_eq!(ask(address, "PUT", &path, r#"{"title":"t"}"#).status, 200);
            }
        });
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(reads)).collect();
        writer.join().unwrap();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    let all = told(stored(&server));
    for entries in came {
        let places: Vec<FeedCursor> = entries.iter().map(|entry| entry.cursor).collect();
        let forward = |pair: &[FeedCursor]| {
            pair[0].event <= pair[1].event && pair[0].change <= pair[1].change && pair[0] != pair[1]
        };
        assert!(places.windows(2).all(forward), "{places:?}");
        assert_eq!(told(entries), all);
    }
}

#[test]
fn a_slow_reader_of_the_feed_loses_nothing() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    let mut stream = Stream::open(address, "/feed", &[]);
    let event = json!({ "type": "a", "data": "x".repeat(100_000) });
    let body = json!({ "events": vec![event; 20] }).to_string();
    for _ in 0..20 {
        assert_eq!(ask(address, "POST", "/sessions/s1/events", &body).status, 201);
    }
    let came: Vec<FeedEntry> = (0..401).map(|_| entry(stream.frame())).collect();
    assert_eq!(told(came), told(stored(&server)));
}

#[test]
fn a_poll_of_the_feed_answers_at_once_or_when_something_happens() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    let end = get(address, "/feed/end").json()["cursor"].take();
    let all = get(address, "/feed?wait=60").json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["cursor"]), (1, &end));
    let after = end.as_str().unwrap();
    let nothing = get(address, &format!("/feed?after={after}")).json();
    assert_eq!(nothing, json!({ "items": [], "cursor": after }));
    thread::scope(|scope| {
        let path = format!("/feed?after={after}&types=b&wait=60");
        let poll = scope.spawn(move || get(address, &path).json());
        // Another type is no news for this poll, but moves its cursor.
        append(address, "s1", &["a"]);
        append(address, "s1", &["b"]);
        let page = poll.join().unwrap();
        assert_eq!(page["items"][0]["event"]["type"], "b");
        assert_eq!(page["items"].as_array().unwrap().len(), 1);
        assert_eq!(page["cursor"], get(address, "/feed/end").json()["cursor"]);
    });
}

#[test]
fn a_page_of_the_feed_goes_on_where_it_ended() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1");
    append(address, "s1", &["a", "b", "c"]);
    let (mut after, mut came) = ("0-0".to_owned(), Vec::new());
    for wait in [0, 60, 0, 60] {
        let page = get(address, &format!("/feed?after={after}&limit=1&wait={wait}")).json();
        page["cursor"].as_str().unwrap().clone_into(&mut after);
        let items: Vec<FeedEntry> = serde_json::from_value(page["items"].clone()).unwrap();
        assert_eq!(items.len(), 1);
        came.extend(items);
    }
    assert_eq!(came, stored(&server));
}

#[test]
fn streams_of_the_feed_end_when_the_server_stops() {
    let mut server = SqliteServer::new();
    create(server.address(), "s1");
    let mut stream = Stream::open(server.address(), "/feed", &[]);
    assert_eq!(stream.frame().name, "session-created");
    // Somebody who waits for a run is no reason to stay, either.
    let waiting = Waiting::send(server.address(), "e1", &[]);
    server.stop();
    assert_eq!(stream.text(), None);
    assert_eq!(waiting.answer(), None);
}

/// What an entry is about, and what happened: `s1 note`.
fn about(entry: &Value) -> String {
    let (happened, what) = match entry.get("event") {
        Some(event) => (event, &event["type"]),
        None => (&entry["change"], &entry["change"]["kind"]),
    };
    format!("{} {}", happened["sessionId"].as_str().unwrap_or("-"), what.as_str().unwrap())
}

#[test]
fn an_agent_is_told_what_is_no_longer_kept() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/agent-instances", &admin, &agent("a1", "Mira", "s1"));
    let mira = server.agent_token("mira", "mira");
    server.clock.advance_ms(1_000);
    let rules = RetentionRules { changes_ms: Some(1), ..RetentionRules::KEEP };
    block_on(server.store.retention_step(rules)).unwrap();
    let page = server.done("GET", "/feed", &mira, &json!({}));
    assert_eq!(
        page["items"].as_array().unwrap().iter().map(about).collect::<Vec<_>>(),
        ["- changes-trimmed"]
    );
}

#[test]
fn an_agent_sees_what_is_about_its_own_sessions_and_nothing_else() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let note = |session: &str| {
        let events = json!({ "events": [{ "type": "note" }] });
        server.done("POST", &format!("/sessions/{session}/events"), &admin, &events);
    };
    server.done("POST", "/agent-instances", &admin, &agent("a1", "Mira", "s1"));
    server.done("POST", "/agent-instances", &admin, &agent("a2", "Nils", "s2"));
    server.done("POST", "/sessions", &admin, &new_session("s3"));
    ["s1", "s2", "s3"].into_iter().for_each(note);
    let mira = server.agent_token("mira", "mira");
    let page = |path: &str| {
        let page = server.done("GET", path, &mira, &json!({}));
        let items: Vec<String> = page["items"].as_array().unwrap().iter().map(about).collect();
        (items, page["cursor"].as_str().unwrap().to_owned())
    };
    let end = server.done("GET", "/feed/end", &mira, &json!({}))["cursor"].take();
    let end = end.as_str().unwrap().to_owned();
    let (items, cursor) = page("/feed");
    assert!(items.contains(&"s1 session-created".to_owned()), "{items:?}");
    assert!(items.contains(&"s1 note".to_owned()), "{items:?}");
    // That it was created itself, and not that the other was.
    let (own, other): (Vec<_>, Vec<_>) = items.iter().partition(|item| item.starts_with("s1 "));
    assert_eq!((own.len(), other.len()), (2, 1), "{items:?}");
    assert_eq!(other[0], "- agent-updated");
    assert_eq!((page("/feed?wait=60"), &cursor), ((items.clone(), end.clone()), &end));
    assert_eq!(page("/feed?session=s2").0, Vec::<String>::new());
    let header = format!("authorization: Bearer {mira}");
    let mut stream = Stream::open(server.address(), "/feed", &[&header]);
    let came: Vec<String> = items.iter().map(|_| about(&stream.frame().data)).collect();
    assert_eq!(came, items);
    // What happens from now on, also in a session that is new.
    thread::scope(|scope| {
        let poll = scope.spawn(|| page(&format!("/feed?after={end}&types=note&wait=60")).0);
        ["s2", "s3"].into_iter().for_each(note);
        server.done("PUT", "/executors/e1", &admin, &json!({ "id": "e1" }));
        server.done("DELETE", "/sessions/s3", &admin, &json!({}));
        let renewed = json!({ "how": { "reset": { "message": null } }, "sessionId": "s4" });
        server.done("POST", "/agent-instances/a1/sessions", &admin, &renewed);
        ["s2", "s4"].into_iter().for_each(note);
        assert_eq!(poll.join().unwrap(), ["s4 note"]);
    });
    let mut seen = Vec::new();
    while seen.last().is_none_or(|last| last != "s4 note") {
        seen.push(about(&stream.frame().data));
    }
    assert!(seen.contains(&"s4 session-created".to_owned()), "{seen:?}");
    assert!(seen.iter().all(|item| item.starts_with("s1 ") || item.starts_with("s4 ")), "{seen:?}");
}
