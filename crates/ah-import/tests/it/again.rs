//! Imports that are repeated: nothing comes twice, and what is new is found.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ah_conformance::{ModelStore, TestClock};
use ah_import::{ImportError, ImportOptions, Outcome};
use ah_model::{AgentUpdate, Beginning, Lifecycle, NewEvent, RawJson, Renewal, Timestamp};
use ah_store::{Capabilities, IdSource, Ids, StoreError, block_on};

use crate::support::{
    DataDir, T0, agents, all_events, check_unchanged, events, kept, options, sessions, store, told,
};

const ALL: [&str; 27] = [
    "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "a10", "a11", "a12", "a13",
    "a14", "a15", "a16", "a17", "a18", "a19", "a20", "a21", "p01", "p02", "p03", "p04", "p05",
    "p06",
];

#[test]
fn all_fixtures_come_in_one_run_and_none_twice() {
    let dir = DataDir::with_fixtures(&ALL);
    fs::create_dir(dir.agent("a22empty0000000000000000")).unwrap();
    let store = store();
    let foretold = dir.dry_run(&*store);
    let report = dir.import(&*store);
    assert_eq!((report.agents.found, report.agents.imported, report.agents.skipped), (28, 27, 1));
    assert_eq!(report.records.kept_raw, 4);
    assert_eq!(
        serde_json::to_string(&foretold).unwrap().replace("\"dryRun\":true", "\"dryRun\":false"),
        serde_json::to_string(&report).unwrap()
    );
    check_unchanged(&dir, &*store);
}

#[test]
fn a22_an_empty_folder_is_skipped_with_a_reason() {
    let dir = DataDir::new();
    fs::create_dir(dir.agent("a22empty0000000000000000")).unwrap();
    dir.write("a23blank0000000000000000", "history.jsonl", "");
    let store = store();
    assert_eq!(
        told(&dir.import(&*store)),
        "markers 0, untimed 0, blank 0\n\
         a22empty0000000000000000 skipped: holds nothing in descriptor.json, state.json or \
         history.jsonl; sessions 0, records 0, present 0, raw 0\n\
         a23blank0000000000000000 skipped: holds nothing in descriptor.json, state.json or \
         history.jsonl; sessions 0, records 0, present 0, raw 0"
    );
    assert_eq!(kept(&*store, dir.path()), "");
}

#[test]
fn new_lines_and_new_sessions_are_picked_up() {
    let dir = DataDir::with_fixtures(&["a13"]);
    let store = store();
    dir.import(&*store);
    dir.append(
        "a13nomarker0000000000000",
        "{\"type\":\"note\",\"at\":1771200000009,\"text\":\"late\"}\n\
         {\"type\":\"reset\",\"at\":1771200000010,\"message\":\"anew\"}\n\
         {\"type\":\"note\",\"at\":1771200000011,\"text\":\"later\"}\n",
    );
    let foretold = dir.dry_run(&*store);
    let report = dir.import(&*store);
    assert_eq!(
        told(&report),
        "markers 1, untimed 0, blank 0\n\
         a13nomarker0000000000000 updated; sessions 1, records 2, present 2, raw 0"
    );
    assert_eq!(told(&foretold), told(&report));
    assert_eq!(
        kept(&*store, dir.path()),
        r##"agent a13nomarker0000000000000 id same from daycare a13nomarker0000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-13","channelId":"c-13"}
  permissions USUAL
  session 1 a13nomarker0000000000000/1 created succeeded in /srv/demo at /srv/demo/desk 7..10 reset inference infsess0000000000000000a1
    1 user_message@7 {"text":"no beginning","files":[]}
    2 assistant_message@8 {"text":"indeed","files":[],"toolCalls":[],"tokens":null}
    3 note@9 {"text":"late"}
  session 2 a13nomarker0000000000000/2 reset running active in /srv/demo at /srv/demo/desk 10.. inference infsess0000000000000000a1 message "anew"
    1 note@11 {"text":"later"}"##
    );
    check_unchanged(&dir, &*store);
}

#[test]
fn a_torn_line_that_is_completed_later_is_a_record_behind_what_was_kept_of_it() {
    let dir = DataDir::with_history("torn", "{\"type\":\"note\",\"at\":1771200000001,\"text\":\"a");
    let store = store();
    dir.import(&*store);
    dir.append("torn", "b\"}\n{\"type\":\"note\",\"at\":1771200000002}");
    assert_eq!(dir.import(&*store).records.imported, 2);
    dir.append("torn", "\n");
    check_unchanged(&dir, &*store);
    let found: Vec<_> = all_events(&*store).into_iter().map(|event| event.kind).collect();
    assert_eq!(found, ["unreadable", "note", "note"]);
}

#[test]
fn a_torn_reset_that_is_completed_later_begins_its_session() {
    let start = "{\"type\":\"start\",\"at\":1771200000000}\n";
    let dir = DataDir::with_history("torn", format!("{start}{{\"type\":\"res"));
    let store = store();
    dir.import(&*store);
    dir.append("torn", "et\",\"at\":1771200000005}\n");
    let report = dir.import(&*store);
    assert_eq!((report.sessions, report.records.imported), (1, 0));
    let agent = &agents(&*store)[0];
    assert_eq!(sessions(&*store, agent).len(), 2);
    check_unchanged(&dir, &*store);
}

#[test]
fn a_line_that_stands_there_twice_is_two_events_with_keys_of_their_own() {
    let line = "{\"type\":\"note\",\"at\":1771200000001,\"text\":\"same\"}\n";
    let dir = DataDir::with_history("twice", line.repeat(3));
    let store = store();
    dir.import(&*store);
    let keys: Vec<_> = all_events(&*store).into_iter().filter_map(|e| e.dedup_key).collect();
    let key = keys[0].clone();
    assert_eq!(key.len(), 16);
    assert_eq!(keys, [key.clone(), format!("{key}#2"), format!("{key}#3")]);
    dir.append("twice", line);
    assert_eq!(dir.import(&*store).records.imported, 1);
    check_unchanged(&dir, &*store);
}

#[test]
fn newer_state_is_taken_and_older_is_not() {
    let dir = DataDir::new();
    let state = |updated: i64, word: &str, tokens: u64| {
        let updated = T0 + updated;
        format!(
            r#"{{"permissions":{{"events":true}},"tokens":{{"n":{tokens}}},"createdAt":{T0},"updatedAt":{updated},"state":"{word}"}}"#
        )
    };
    dir.write("a", "state.json", state(10, "active", 1));
    let store = store();
    dir.import(&*store);
    dir.write("a", "state.json", state(20, "sleeping", 2));
    let foretold = dir.dry_run(&*store);
    let report = dir.import(&*store);
    assert_eq!((foretold.agents.updated, report.agents.updated), (1, 1));
    let agent = agents(&*store).remove(0);
    assert_eq!(
        (agent.lifecycle, agent.tokens.as_str(), agent.updated_at.unix_ms()),
        (Lifecycle::Sleeping, "{\"n\":2}", T0 + 20)
    );
    dir.write("a", "state.json", state(15, "dead", 3));
    check_unchanged(&dir, &*store);
}

#[test]
fn what_was_dated_by_the_run_is_not_dated_anew_by_the_next() {
    let dir = DataDir::new();
    dir.write("a", "descriptor.json", "{}");
    let store = store();
    dir.import(&*store);
    let later = ImportOptions { now: Timestamp::from_unix_ms(T0 + 9_000_000), ..options() };
    let report = dir.import_with(&*store, &later).unwrap();
    assert_eq!(report.details[0].outcome, Outcome::Unchanged);
    let agent = agents(&*store).remove(0);
    assert_eq!(
        (agent.created_at, agent.updated_at, agent.revision),
        (options().now, options().now, 1)
    );
}

#[test]
fn an_agent_that_went_on_here_keeps_its_session_and_gets_what_is_new() {
    let dir = DataDir::with_fixtures(&["a02"]);
    let store = store();
    dir.import(&*store);
    let agent = agents(&*store).remove(0);
    let renewal = Renewal::new(Beginning::Reset { message: None });
    let ours = block_on(store.renew_agent(agent.id.clone(), renewal)).unwrap();
    let note = NewEvent { kind: "note".into(), data: RawJson::null(), dedup_key: None, ts: None };
    block_on(store.append_to_agent(agent.id.clone(), None, vec![note])).unwrap();
    dir.append("a02onlystart000000000000", "{\"type\":\"note\",\"at\":1771200000005}\n");
    assert_eq!(dir.import(&*store).records.imported, 1);
    let agent = agents(&*store).remove(0);
    assert_eq!(agent.active_session_id, Some(ours.id));
    let counts: Vec<_> =
        sessions(&*store, &agent).iter().map(|session| events(&*store, session).len()).collect();
    assert_eq!(counts, [1, 1]);
}

#[test]
fn what_was_changed_here_later_is_not_undone() {
    let dir = DataDir::with_fixtures(&["a02"]);
    let store = store();
    dir.import(&*store);
    let agent = agents(&*store).remove(0);
    let model = Some("other".to_owned());
    let update = AgentUpdate { model, ..AgentUpdate::default() };
    block_on(store.update_agent(agent.id, update)).unwrap();
    check_unchanged(&dir, &*store);
}

/// Random enough bytes for so many ids, then none.
struct RunsDry(AtomicU32);

impl IdSource for RunsDry {
    fn random(&self) -> Result<[u8; 10], StoreError> {
        let left = self.0.load(Ordering::SeqCst);
        if left == 0 {
            return Err(StoreError::backend("read random bytes", "there are none"));
        }
        self.0.store(left - 1, Ordering::SeqCst);
        let [a, b, c, d] = left.to_be_bytes();
        Ok([0, 0, 0, 0, 0, 0, a, b, c, d])
    }
}

#[test]
fn a_store_that_fails_keeps_the_agents_before_whole_and_the_next_run_goes_on() {
    let dir = DataDir::with_fixtures(&["a01", "a02", "a03"]);
    // The first agent has two sessions, the second one, the third four.
    let ids = Arc::new(RunsDry(AtomicU32::new(4)));
    struct Shared(Arc<RunsDry>);
    impl IdSource for Shared {
        fn random(&self) -> Result<[u8; 10], StoreError> {
            self.0.random()
        }
    }
    let source = Ids::new(Box::new(Shared(ids.clone())));
    let capabilities = Capabilities { workspaces: false };
    let store = ModelStore::new(Arc::new(TestClock::new()), source, capabilities);
    let error = dir.try_import(&store).unwrap_err();
    assert!(matches!(error, ImportError::Store(StoreError::Backend { .. })), "{error:?}");
    let names: Vec<_> = agents(&store).into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["a01userfull0000000000000", "a02onlystart000000000000"]);
    ids.0.store(100, Ordering::SeqCst);
    let report = dir.import(&store);
    assert_eq!((report.agents.unchanged, report.agents.imported), (2, 1));
    check_unchanged(&dir, &store);
}

#[test]
fn a_dry_run_foretells_names_that_are_taken() {
    let dir = DataDir::new();
    for id in ["one", "two", "Three"] {
        dir.write(id, "descriptor.json", "{\"type\":\"system\",\"tag\":\"three\"}");
    }
    let store = store();
    let foretold = dir.dry_run(&*store);
    let report = dir.import(&*store);
    let names = |report: &ah_import::ImportReport| {
        report.details.iter().fold(String::new(), |mut names, agent| {
            let _ = write!(names, "{} {} ", agent.id, agent.name);
            names
        })
    };
    assert_eq!(names(&report), "Three three one three-2 two three-3 ");
    assert_eq!(names(&foretold), names(&report));
}
