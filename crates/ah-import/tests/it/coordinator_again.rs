//! Imports that are repeated, cut off or overtaken.

use std::fs;

use ah_conformance::block_on;
use ah_model::{
    NewEvent, NewRun, RawJson, RunKind, SessionStatus, SessionUpdate, StatusChange, Timestamp,
};

use crate::coordinator_db::{CoordinatorDb, SEED, at, head, kept, session};
use crate::support::{events, store};

fn session_row(id: &str, status: &str, created: u32) -> String {
    let row = "INSERT INTO sessions (session_id, status, created_at, hostname)";
    format!("{row} VALUES ('{id}', '{status}', '{}', 'host1');", at(created))
}

fn event_row(id: &str, seconds: u32, n: u32) -> String {
    let row = "INSERT INTO events (session_id, event_type, timestamp, content)";
    format!("{row} VALUES ('{id}', 'message', '{}', '[{n}]');", at(seconds))
}

#[test]
fn a_file_that_grew_brings_only_what_is_new() {
    let database = CoordinatorDb::new(&format!(
        "{}{}{}{}",
        head(),
        session_row("s", "running", 0),
        session_row("t", "finished", 0),
        event_row("s", 1, 1)
    ));
    let store = store();
    database.import(&*store);
    let before = session(&*store, "s");
    assert_eq!(before.status, SessionStatus::Failed);
    assert_eq!(before.exit.reason.as_deref(), Some("imported while running"));
    database.run(&format!(
        "{}{}{}UPDATE sessions SET status = 'idle', hostname = NULL WHERE session_id = 's';
         INSERT INTO runs (run_id, session_id, type, parameters, status, created_at, completed_at)
           VALUES ('r', 't', 'resume_session', '{{}}', 'completed', '{}', '{}');",
        event_row("s", 2, 2),
        session_row("u", "finished", 3),
        event_row("u", 3, 3),
        at(4),
        at(5),
    ));
    let foretold = database.dry_run(&*store);
    let report = database.import(&*store);
    assert_eq!((foretold.sessions, foretold.details), (report.sessions, report.details.clone()));
    let (counts, records) = (report.sessions, report.records);
    assert_eq!((counts.imported, counts.updated, counts.unchanged), (1, 2, 0));
    assert_eq!((records.imported, records.present, report.runs.imported), (2, 1, 1));
    let after = session(&*store, "s");
    assert_eq!((after.status, after.ended_at), (SessionStatus::Idle, None));
    assert_eq!(after.labels.0.len(), 0);
    assert_eq!(after.details.hostname.as_deref(), Some("host1"));
    let said: Vec<_> = events(&*store, &after).into_iter().map(|event| event.data).collect();
    let said: Vec<_> = said.iter().map(RawJson::as_str).collect();
    assert_eq!(said, [r#"{"content":[1]}"#, r#"{"content":[2]}"#]);
    database.check_unchanged(&*store);
}

#[test]
fn a_session_that_ended_there_without_a_word_ends_here() {
    let rows = format!("{SEED}{}{}", session_row("s", "idle", 0), event_row("s", 1, 1));
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    database.run("UPDATE sessions SET status = 'stopped'");
    let report = database.import(&*store);
    assert_eq!((report.sessions.updated, report.records.imported), (1, 0));
    assert_eq!(session(&*store, "s").status, SessionStatus::Cancelled);
    database.check_unchanged(&*store);
}

#[test]
fn a_run_that_was_at_work_at_the_first_import_stays_as_it_came_and_is_named() {
    let rows = format!(
        "{}{}INSERT INTO runs (run_id, session_id, type, parameters, status, created_at)
           VALUES ('r', 's', 'start_session', '{{}}', 'claimed', '{}');",
        head(),
        session_row("s", "pending", 0),
        at(1)
    );
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    database.run(&format!("UPDATE runs SET status = 'completed', completed_at = '{}'", at(2)));
    let report = database.import(&*store);
    assert_eq!((report.runs.imported, report.runs.present), (0, 1));
    let remarks = &report.details[0].remarks;
    assert_eq!(remarks[1].what, "is failed here, completed there: left as it is");
    let runs = block_on(store.session_runs("s".parse().unwrap())).unwrap();
    assert_eq!(runs[0].error.as_deref(), Some("imported while claimed"));
}

#[test]
fn copies_of_a_file_that_went_different_ways_lose_nothing() {
    let rows = format!("{SEED}{}{}", session_row("s", "idle", 0), event_row("s", 1, 1));
    let (first, second) = (CoordinatorDb::new(&rows), CoordinatorDb::new(&rows));
    first.run(&event_row("s", 2, 2));
    second.run(&event_row("s", 2, 3));
    // A column that was added and is empty makes no other row.
    second.run("ALTER TABLE events ADD COLUMN result_text TEXT");
    let store = store();
    assert_eq!(first.import(&*store).records.imported, 2);
    let report = second.import(&*store);
    assert_eq!((report.records.imported, report.records.present), (1, 1));
    assert_eq!(session(&*store, "s").last_seq, 3);
}

#[test]
fn what_went_on_here_is_not_undone() {
    let rows = format!("{SEED}{}{}", session_row("s", "idle", 0), event_row("s", 1, 1));
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    let id = session(&*store, "s").id;
    let later: Timestamp = "2026-01-30T00:00:00Z".parse().unwrap();
    block_on(store.rename_session(id.clone(), "mine".to_owned())).unwrap();
    block_on(store.pin_session(id.clone(), true)).unwrap();
    database.check_unchanged(&*store);
    let update = SessionUpdate { last_resumed_at: Some(later), ..SessionUpdate::default() };
    block_on(store.update_session(id.clone(), update)).unwrap();
    let run = NewRun::new(id.clone(), RunKind::Resume, RawJson::null());
    block_on(store.create_run(run)).unwrap();
    database.run(&format!("{}UPDATE sessions SET status = 'failed'", event_row("s", 3, 3)));
    let report = database.import(&*store);
    assert_eq!((report.sessions.updated, report.records.imported), (1, 1));
    assert_eq!(
        report.details[0].remarks[0].what,
        "went on here, so that its state stays as it is; only its records are taken"
    );
    let after = session(&*store, "s");
    assert_eq!((after.status, after.last_resumed_at), (SessionStatus::Idle, Some(later)));
    assert_eq!((after.title.as_deref(), after.pinned, after.last_seq), (Some("mine"), true, 2));
}

#[test]
fn what_ended_here_later_than_there_stays_as_it_is() {
    let rows = format!("{SEED}{}", session_row("s", "idle", 0));
    let database = CoordinatorDb::new(&rows.replace("2026-01-06", "2026-01-01"));
    let store = store();
    database.import(&*store);
    let id = session(&*store, "s").id;
    let change = StatusChange { to: SessionStatus::Succeeded, exit: ah_model::Exit::default() };
    let ours = block_on(store.set_session_status(id, change)).unwrap();
    let report = database.import(&*store);
    assert_eq!(report.sessions.unchanged, 1);
    assert_eq!(session(&*store, "s"), ours);
}

/// A session of 2,500 events, of which one is so long that it does not fit its page of the file.
fn long_session() -> String {
    let one = "INSERT INTO events (session_id, event_type, timestamp, content)";
    format!(
        "{SEED}{}
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
         {one} SELECT 's', 'message', '{}', CASE WHEN i = 1800
             THEN json_array(printf('%.*c', 20000, 'x') || 'the end of it') ELSE json_array(i) END
           FROM n;",
        session_row("s", "finished", 0),
        at(1)
    )
}

#[test]
fn an_import_that_ends_half_way_is_marked_and_the_next_one_completes_it() {
    let database = CoordinatorDb::new(&long_session());
    let whole = fs::read(database.path()).unwrap();
    let mut torn = whole.clone();
    let marker = b"the end of it";
    let found = torn.windows(marker.len()).position(|bytes| bytes == marker).unwrap();
    // The page that it ends on says that it goes on somewhere, which is nowhere.
    let page = found / 4096 * 4096;
    let before = page - 4096;
    torn[before..before + 4].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    fs::write(database.path(), &torn).unwrap();
    let cut = store();
    let error = database.try_import(&*cut).unwrap_err();
    assert!(error.to_string().contains("malformed"), "{error}");
    let half = session(&*cut, "s");
    assert_eq!((half.last_seq, half.status), (1_000, SessionStatus::Succeeded));
    assert_eq!(half.labels.0.get("import").map(String::as_str), Some("unfinished"));
    fs::write(database.path(), &whole).unwrap();
    let report = database.import(&*cut);
    assert_eq!((report.sessions.updated, report.records.imported), (1, 1_500));
    assert_eq!(report.records.present, 1_000);
    let straight = store();
    database.import(&*straight);
    assert_eq!(kept(&*cut), kept(&*straight));
    assert_eq!(session(&*cut, "s"), session(&*straight, "s"));
    database.check_unchanged(&*cut);
}

#[test]
fn a_mark_that_is_left_without_missing_events_is_taken_away() {
    let rows = format!("{SEED}{}{}", session_row("s", "idle", 0), event_row("s", 1, 1));
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    let whole = session(&*store, "s");
    let mut cut = whole.clone();
    cut.labels.0.insert("import".to_owned(), "unfinished".to_owned());
    cut.last_activity_at = "2026-02-01T00:00:00Z".parse().unwrap();
    let header = ah_model::ExportHeader::new(cut, Vec::new());
    block_on(store.restore_session(header)).unwrap();
    let report = database.import(&*store);
    assert_eq!((report.sessions.updated, report.records.imported), (1, 0));
    assert_eq!(session(&*store, "s"), whole);
}

#[test]
fn times_in_the_future_move_nothing() {
    let row = "INSERT INTO events (session_id, event_type, timestamp)";
    let rows = format!(
        "{SEED}{}{row} VALUES ('s', 'message', '9999-01-01T00:00:00Z');",
        session_row("s", "finished", 5)
    );
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    let session = session(&*store, "s");
    assert_eq!(session.last_activity_at, session.created_at);
    assert_eq!(events(&*store, &session)[0].ts.to_string(), "9999-01-01T00:00:00.000Z");
    database.check_unchanged(&*store);
}

#[test]
fn events_that_were_appended_here_stay_between_those_of_the_file() {
    let rows = format!("{SEED}{}{}", session_row("s", "finished", 0), event_row("s", 1, 1));
    let database = CoordinatorDb::new(&rows);
    let store = store();
    database.import(&*store);
    let ours =
        NewEvent { kind: "note".to_owned(), data: RawJson::null(), dedup_key: None, ts: None };
    block_on(store.append_events(session(&*store, "s").id, vec![ours])).unwrap();
    database.run(&event_row("s", 9, 2));
    assert_eq!(database.import(&*store).records.imported, 1);
    let kinds = events(&*store, &session(&*store, "s")).into_iter().map(|event| event.kind);
    assert_eq!(kinds.collect::<Vec<_>>(), ["message", "note", "message"]);
    database.check_unchanged(&*store);
}
