//! Agents that are too large for one call to the store, with bounds that are small.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ah_conformance::{ModelStore, SeededIds, TestClock};
use ah_model::{
    Agent, AgentFilter, EventQuery, Lifecycle, Order, PageLimit, PageRequest, Timestamp,
};
use ah_store::{Capabilities, IdSource, Ids, Store, StoreError, block_on};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::writer::Bounds;
use crate::{ImportError, ImportOptions, ImportReport};

/// Ids while there are any left.
struct Limited(SeededIds, Arc<AtomicU32>);

impl IdSource for Limited {
    fn random(&self) -> Result<[u8; 10], StoreError> {
        match self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => self.0.random(),
            Err(_) => Err(StoreError::backend("read random bytes", "there are none")),
        }
    }
}

fn store(ids: &Arc<AtomicU32>) -> ModelStore {
    let source = Box::new(Limited(SeededIds::new(1), ids.clone()));
    let capabilities = Capabilities { workspaces: false };
    ModelStore::new(Arc::new(TestClock::new()), Ids::new(source), capabilities)
}

fn fresh() -> ModelStore {
    store(&Arc::new(AtomicU32::new(u32::MAX)))
}

const ALL: Bounds = Bounds { records: usize::MAX, bytes: usize::MAX, json_file_bytes: u64::MAX };

fn few(records: usize) -> Bounds {
    Bounds { records, ..ALL }
}

fn import(store: &dyn Store, dir: &Path, bounds: Bounds) -> Result<ImportReport, ImportError> {
    run(store, dir, bounds, false)
}

fn run(
    store: &dyn Store,
    dir: &Path,
    bounds: Bounds,
    dry_run: bool,
) -> Result<ImportReport, ImportError> {
    let kind = "daycare".parse().unwrap();
    let options = ImportOptions { dry_run, kind, now: Timestamp::from_unix_ms(1_000) };
    block_on(super::import(store, dir, &options, bounds, &mut |_| {}))
}

fn the_agent(store: &dyn Store) -> Agent {
    let all = PageRequest { limit: PageLimit::MAX, cursor: None };
    block_on(store.list_agents(AgentFilter::default(), all)).unwrap().items.remove(0)
}

/// Sessions with their events, and which one goes on.
fn kept(store: &dyn Store) -> Vec<String> {
    let agent = the_agent(store);
    let all = PageRequest { limit: PageLimit::MAX, cursor: None };
    let sessions = block_on(store.agent_sessions(agent.id.clone(), Order::Oldest, all)).unwrap();
    let mut lines = vec![format!("{} {}", agent.lifecycle, agent.created_at.unix_ms())];
    for session in sessions.items {
        let goes_on = agent.active_session_id.as_ref() == Some(&session.id);
        let number = session.of_agent.unwrap().number;
        lines.push(format!(
            "{number} {} {goes_on} {:?} {:?} {:?} {:?}",
            session.status,
            session.ended_at.map(Timestamp::unix_ms),
            session.exit.reason,
            session.details.reset_message,
            session.details.inference_session_id,
        ));
        let query = EventQuery { limit: PageLimit::MAX, ..EventQuery::default() };
        for event in block_on(store.events(session.id, query)).unwrap() {
            let (ts, data) = (event.ts.unix_ms(), event.data.as_str());
            lines.push(format!("  {} {}@{ts} {data} {:?}", event.seq, event.kind, event.dedup_key));
        }
    }
    lines
}

fn dir_of(state: &str, history: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let agent = dir.path().join("agents/a");
    fs::create_dir_all(&agent).unwrap();
    fs::write(agent.join("history.jsonl"), history).unwrap();
    fs::write(agent.join("state.json"), state).unwrap();
    dir
}

const STATE: &str =
    r#"{"permissions":{"events":true},"createdAt":1,"updatedAt":9,"inferenceSessionId":"i"}"#;
const DEAD: &str = r#"{"permissions":{"events":true},"createdAt":4,"updatedAt":5,"state":"dead"}"#;

/// Three sessions of four records each.
fn history() -> String {
    let mut text = String::new();
    for session in 0..3 {
        let at = session * 100;
        text.push_str(&format!("{{\"type\":\"reset\",\"at\":{at},\"message\":\"m{session}\"}}\n"));
        for record in 1..5 {
            let at = at + record;
            text.push_str(&format!("{{\"type\":\"note\",\"at\":{at}}}\n"));
        }
    }
    text
}

#[test]
fn parts_are_the_same_agent_as_the_whole() {
    for state in [STATE, DEAD] {
        let dir = dir_of(state, history().as_bytes());
        let whole = fresh();
        let at_once = import(&whole, dir.path(), ALL).unwrap();
        let bounds = (1..16).map(few).chain([0, 30, 90].map(|bytes| Bounds { bytes, ..few(99) }));
        for bounds in bounds {
            let parts = fresh();
            let foretold = run(&parts, dir.path(), bounds, true).unwrap();
            let report = import(&parts, dir.path(), bounds).unwrap();
            assert_eq!(kept(&parts), kept(&whole), "{bounds:?}");
            assert_eq!(report, at_once, "{bounds:?}");
            assert_eq!(ImportReport { dry_run: false, ..foretold }, at_once, "{bounds:?}");
        }
    }
}

#[test]
fn a_second_run_in_parts_changes_nothing() {
    for state in [STATE, DEAD] {
        let dir = dir_of(state, history().as_bytes());
        let store = fresh();
        import(&store, dir.path(), few(4)).unwrap();
        let before = (the_agent(&store), kept(&store));
        for bounds in [few(1), few(4), ALL] {
            let foretold = run(&store, dir.path(), bounds, true).unwrap();
            let report = import(&store, dir.path(), bounds).unwrap();
            assert_eq!(report.agents.unchanged, 1, "{bounds:?} {report:?}");
            assert_eq!((report.records.imported, report.records.present), (0, 12));
            assert_eq!(ImportReport { dry_run: false, ..foretold }, report);
            assert_eq!((the_agent(&store), kept(&store)), before, "{bounds:?}");
        }
    }
}

#[test]
fn a_run_that_ends_half_way_leaves_the_agent_asleep_and_the_next_one_completes_it() {
    let dir = dir_of(STATE, history().as_bytes());
    let ids = Arc::new(AtomicU32::new(2));
    let store = store(&ids);
    let error = import(&store, dir.path(), few(4)).unwrap_err();
    assert!(matches!(error, ImportError::Store(_)), "{error:?}");
    let agent = the_agent(&store);
    assert_eq!((agent.lifecycle, agent.session_count), (Lifecycle::Sleeping, 2));
    ids.store(u32::MAX, Ordering::SeqCst);
    import(&store, dir.path(), few(4)).unwrap();
    let whole = fresh();
    import(&whole, dir.path(), ALL).unwrap();
    assert_eq!(kept(&store), kept(&whole));
    assert_eq!(the_agent(&store).updated_at, Timestamp::from_unix_ms(9));
}

#[test]
fn a_second_run_that_ends_half_way_leaves_the_active_session_as_it_is() {
    let dir = dir_of(STATE, history().as_bytes());
    let ids = Arc::new(AtomicU32::new(3));
    let store = store(&ids);
    import(&store, dir.path(), ALL).unwrap();
    let before = the_agent(&store).active_session_id;
    let path = dir.path().join("agents/a/history.jsonl");
    fs::write(path, history() + "{\"type\":\"reset\",\"at\":300}\n").unwrap();
    assert!(import(&store, dir.path(), few(4)).is_err());
    assert_eq!(the_agent(&store).active_session_id, before);
}

#[test]
fn many_sessions_without_records_are_many_calls() {
    let history: String =
        (0..50).map(|at| format!("{{\"type\":\"reset\",\"at\":{at}}}\n")).collect();
    let dir = dir_of(STATE, history.as_bytes());
    let (whole, parts) = (fresh(), fresh());
    import(&whole, dir.path(), ALL).unwrap();
    import(&parts, dir.path(), few(7)).unwrap();
    assert_eq!(kept(&parts), kept(&whole));
}

#[test]
fn a_state_that_is_too_long_to_read_is_kept_in_the_last_session() {
    let dir = dir_of(STATE, history().as_bytes());
    let store = fresh();
    let bounds = Bounds { json_file_bytes: 20, ..ALL };
    let report = import(&store, dir.path(), bounds).unwrap();
    let what = format!("has {} bytes, at most 20 are allowed", STATE.len());
    let remarks: Vec<_> = report.details[0].remarks.iter().map(|r| r.what.as_str()).collect();
    assert_eq!(remarks[0], format!("{what}: the agent sleeps and may do nothing"));
    assert_eq!(remarks[2], format!("kept raw: {what}"));
    let last = kept(&store).pop().unwrap();
    let raw = serde_json::to_string(STATE).unwrap();
    let data = format!(r#"{{"file":"state.json","reason":"{what}","raw":{raw},"part":1,"of":1}}"#);
    assert!(last.contains(&data), "{last}");
    import(&store, dir.path(), bounds).unwrap();
    assert_eq!(kept(&store).pop().unwrap(), last);
}

#[test]
fn futures_may_move_between_threads() {
    fn check<T: Send>(value: T) -> T {
        value
    }
    let (store, dir) = (fresh(), tempfile::tempdir().unwrap());
    let options = ImportOptions {
        dry_run: true,
        kind: "daycare".parse().unwrap(),
        now: Timestamp::from_unix_ms(0),
    };
    drop(check(crate::import_daycare(&store, dir.path(), &options, &mut |_| {})));
    drop(check(crate::import_daycare_db(&store, dir.path(), &options, &mut |_| {})));
    drop(check(crate::import_coordinator(&store, dir.path(), &options, &mut |_| {})));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_history_in_parts_is_the_same_as_the_whole(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "{\"type\":\"start\",\"at\":4}",
                "{\"type\":\"reset\",\"at\":2,\"message\":\"m\"}",
                "{\"type\":\"reset\",\"at\":3,\"by\":1}",
                "{\"type\":\"note\",\"at\":5}",
                "{\"type\":\"note\"}",
                "broken",
                "",
            ]),
            1..12,
        ),
        records in 1_usize..6,
    ) {
        let dir = dir_of(STATE, lines.join("\n").as_bytes());
        let (whole, parts) = (fresh(), fresh());
        let at_once = import(&whole, dir.path(), ALL).unwrap();
        prop_assert_eq!(import(&parts, dir.path(), few(records)).unwrap(), at_once);
        prop_assert_eq!(kept(&parts), kept(&whole));
        let before = kept(&parts);
        import(&parts, dir.path(), few(records)).unwrap();
        prop_assert_eq!(kept(&parts), before);
    }
}
