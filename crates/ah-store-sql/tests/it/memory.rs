//! Reading a long log by pages takes the memory of a page, and its context that of its tail.

use ah_conformance::Harness;
use ah_model::{EventQuery, NewEvent, PageLimit, RawJson, SessionId};
use ah_store::{Capabilities, ContextLimit, Store, block_on, session_context};

use crate::given::new_session;
use crate::sqlite::SqliteHarness;

const EVENTS: usize = 100_000;
const PAGE: u32 = 500;
/// More than the allocator's and SQLite's own noise, far less than the 30 MB of the payloads.
const GROWTH_KIB_MAX: u64 = 6 * 1024;

/// Resident memory of this process in KiB.
fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn long_session(store: &dyn Store, kind: &str, data: RawJson) -> SessionId {
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let event = NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: None };
    for _ in 0..EVENTS / 1_000 {
        block_on(store.append_events(id.clone(), vec![event.clone(); 1_000])).unwrap();
    }
    id
}

/// Set in the process that does the reading: memory is counted per process, and other tests may
/// run in this one.
const ALONE: &str = "AH_TEST_ALONE";

#[test]
fn paging_through_a_hundred_thousand_events_keeps_memory_flat() {
    alone("paging_through_a_hundred_thousand_events_keeps_memory_flat", read_by_pages);
}

#[test]
fn the_context_of_a_hundred_thousand_events_takes_the_memory_of_its_tail() {
    alone("the_context_of_a_hundred_thousand_events_takes_the_memory_of_its_tail", read_context);
}

/// Runs `work` in a process of its own.
#[expect(clippy::disallowed_methods, reason = "tells the two processes apart")]
fn alone(name: &str, work: fn()) {
    if std::env::var_os(ALONE).is_some() {
        return work();
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("memory::{name}")])
        .env(ALONE, "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn the_context_of_millions_of_tiny_parts_takes_few_times_their_bytes() {
    alone("the_context_of_millions_of_tiny_parts_takes_few_times_their_bytes", read_tiny_parts);
}

/// The most memory this process ever held, in KiB.
fn peak_kib() -> u64 {
    status_kib("VmHWM:")
}

fn read_context() {
    let harness = SqliteHarness::new(Capabilities { workspaces: false });
    let store = harness.store();
    let data = RawJson::of(&serde_json::json!({ "text": "x".repeat(300) })).unwrap();
    let id = long_session(&*store, "user_message", data);
    let before = peak_kib();
    let seen = block_on(session_context(&*store, id, ContextLimit::default())).unwrap();
    assert_eq!((seen.records, seen.messages.len(), seen.omitted), (2_000, 2_000, 98_000));
    let growth = peak_kib().saturating_sub(before);
    assert!(growth < GROWTH_KIB_MAX, "grew by {growth} KiB over a tail of 600 KB");
}

/// Twice the payloads, a copy of the page, and what the allocator keeps.
const TINY_PARTS_KIB_MAX: u64 = 160 * 1024;

fn read_tiny_parts() {
    let harness = SqliteHarness::new(Capabilities { workspaces: false });
    let store = harness.store();
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let list = format!(r#"{{"content":[{}1]}}"#, "1,".repeat(7_000_000));
    let data = RawJson::parse("data", &list, usize::MAX).unwrap();
    let event = NewEvent { kind: "user_message".to_owned(), data, dedup_key: None, ts: None };
    for _ in 0..2 {
        block_on(store.append_events(id.clone(), vec![event.clone()])).unwrap();
    }
    drop((event, list));
    let before = peak_kib();
    let seen = block_on(session_context(&*store, id, ContextLimit::default())).unwrap();
    assert_eq!(seen.messages.len(), 2);
    let growth = peak_kib().saturating_sub(before);
    assert!(growth < TINY_PARTS_KIB_MAX, "grew by {growth} KiB over two events of 14 MB");
}

fn read_by_pages() {
    let harness = SqliteHarness::new(Capabilities { workspaces: false });
    let store = harness.store();
    let id = long_session(&*store, "note", RawJson::of(&"x".repeat(300)).unwrap());
    let limit = PageLimit::new(PAGE).unwrap();
    let (mut after, mut read, mut early) = (0, 0, 0);
    loop {
        let query = EventQuery { after, limit, ..EventQuery::default() };
        let events = block_on(store.events(id.clone(), query)).unwrap();
        let Some(last) = events.last() else { break };
        after = last.seq;
        read += events.len();
        if read == EVENTS / 10 {
            early = resident_kib();
        }
    }
    assert_eq!(read, EVENTS);
    let growth = resident_kib().saturating_sub(early);
    assert!(growth < GROWTH_KIB_MAX, "grew by {growth} KiB over 90,000 events");
}
