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
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn long_session(store: &dyn Store) -> SessionId {
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let data = RawJson::of(&"x".repeat(300)).unwrap();
    let event = NewEvent { kind: "note".to_owned(), data, dedup_key: None, ts: None };
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

fn read_context() {
    let harness = SqliteHarness::new(Capabilities { workspaces: false });
    let store = harness.store();
    let id = long_session(&*store);
    let before = resident_kib();
    let seen = block_on(session_context(&*store, id, ContextLimit::default())).unwrap();
    assert_eq!((seen.records, seen.omitted), (2_000, 98_000));
    let growth = resident_kib().saturating_sub(before);
    assert!(growth < GROWTH_KIB_MAX, "grew by {growth} KiB over a tail of 600 KB");
}

fn read_by_pages() {
    let harness = SqliteHarness::new(Capabilities { workspaces: false });
    let store = harness.store();
    let id = long_session(&*store);
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
