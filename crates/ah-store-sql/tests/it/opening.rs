//! Opening: many at once, old databases, newer ones, and what other programs left.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{Appended, EventQuery, NewEvent, PageRequest, RawJson, SessionFilter, SessionId};
use ah_store::{
    Capabilities, Clock, Events, Ids, Sessions, StoreError, block_on, check_export, export_session,
    import_session,
};
use ah_store_sql::{PostgresOptions, SCHEMA_VERSION, SqlStore, SqliteOptions, Upgrade};
use postgres::{Client, NoTls};
use rusqlite::Connection;

use crate::given::new_session;
use crate::postgres::server_url;

const AT_ONCE: usize = 16;
const VERSION_1: &str = include_str!("../../migrations/sqlite/1__base_tables.sql");
const VERSION_2: &str = include_str!("../../migrations/sqlite/2__executor_tables.sql");

fn parts(seed: usize) -> (Capabilities, Arc<dyn Clock>, Ids) {
    let ids = Ids::new(Box::new(SeededIds::new(seed as u64)));
    (Capabilities { workspaces: true }, Arc::new(TestClock::new()), ids)
}

fn open(path: &Path, seed: usize) -> Result<(SqlStore, Upgrade), StoreError> {
    let (capabilities, clock, ids) = parts(seed);
    SqlStore::open_sqlite(SqliteOptions::new(path), capabilities, clock, ids)
}

#[expect(clippy::disallowed_methods, reason = "an older program writes here")]
fn old_database(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(VERSION_1).unwrap();
    connection.execute_batch(VERSION_2).unwrap();
    connection
        .execute_batch(
            "PRAGMA user_version = 2;
             INSERT INTO repos (vcs, root_path, remote_url) VALUES ('git', '/a', 'https://h/r');
             INSERT INTO agents (name, version) VALUES ('codex', 'latest');
             INSERT INTO runtimes (type) VALUES ('local');
             INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at) VALUES
               ('done', 1, 1, 1, 'completed', '2025-01-02T03:04:05Z'),
               ('odd', 1, 1, 1, 'paused', 'yesterday'),
               ('live', 1, 1, 1, 'running', '2025-01-02T03:04:05.678+01:00');
             INSERT INTO events (session_id, type, data) VALUES
               ('done', 'a', '1'), ('live', 'b', 'not json'), ('done', 'c', NULL);
             INSERT INTO events (session_id, ts, type, data) VALUES ('done', 'noon', 'd', '{}');
             INSERT INTO tasks (session_id, prompt, labels) VALUES ('done', 'p', '{\"k\":\"v\"}');",
        )
        .unwrap();
}

/// Runs `work` on many threads that start together.
fn together<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let barrier = Barrier::new(AT_ONCE);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let (barrier, work) = (&barrier, &work);
                scope.spawn(move || {
                    barrier.wait();
                    work(number)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn a_database_that_is_being_made_never_looks_like_another_programs() {
    for round in 0..60 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                // Looks as often as it can while the tables appear.
                while ah_store_sql::inspect_sqlite(&path).unwrap().from < SCHEMA_VERSION {}
            });
            open(&path, round).unwrap();
            looking.join().unwrap();
        });
    }
}

#[test]
fn an_old_database_is_upgraded_once_however_many_open_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    let upgrades = together(|number| open(&path, number).unwrap().1);
    let backups: Vec<_> = upgrades.into_iter().filter_map(|upgrade| upgrade.backup).collect();
    assert_eq!(backups.len(), 1, "{backups:?}");
    assert_eq!(ah_store_sql::inspect_sqlite(&backups[0]).unwrap().from, 2);
    assert_eq!(ah_store_sql::inspect_sqlite(&path).unwrap().from, SCHEMA_VERSION);
}

#[test]
fn what_an_older_program_wrote_is_all_there_after_the_upgrade() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    let (store, _) = open(&path, 1).unwrap();
    let filter = SessionFilter::default();
    let mut sessions = block_on(store.list_sessions(filter, PageRequest::default())).unwrap().items;
    sessions.sort_by(|a, b| a.id.cmp(&b.id));
    let seen: Vec<_> = sessions
        .iter()
        .map(|s| {
            format!("{} {} {} {} {:?}", s.id, s.status, s.last_seq, s.started_at, s.exit.reason)
        })
        .collect();
    assert_eq!(
        seen,
        [
            "done succeeded 3 2025-01-02T03:04:05.000Z None",
            "live running 1 2025-01-02T02:04:05.678Z None",
            "odd failed 0 1970-01-01T00:00:00.000Z Some(\"status was paused\")",
        ]
    );
    let events = |id: &str| {
        let read = block_on(store.events(id.parse().unwrap(), EventQuery::default())).unwrap();
        read.iter().map(|e| format!("{} {} {:?}", e.seq, e.kind, e.data)).collect::<Vec<_>>()
    };
    assert_eq!(events("done"), ["1 a 1", "2 c null", "3 d {}"]);
    assert_eq!(events("live"), [r#"1 b {"unreadable":"not json"}"#]);
    let violations = block_on(store.check()).unwrap().violations;
    let subjects: Vec<_> = violations.iter().map(|broken| broken.subject.as_str()).collect();
    assert_eq!(subjects, ["session live event 1: not JSON"]);
}

/// Changes an old database as a program without foreign keys would.
#[expect(clippy::disallowed_methods, reason = "an older program writes here")]
fn spoil(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).unwrap();
}

fn backups(directory: &Path) -> usize {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().contains(".backup-")).count()
}

#[test]
fn an_upgrade_that_cannot_finish_changes_nothing_and_leaves_no_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    spoil(&path, "CREATE TABLE repos_3 (x)");
    assert!(open(&path, 1).is_err());
    assert_eq!(ah_store_sql::inspect_sqlite(&path).unwrap().from, 2);
    assert_eq!(backups(directory.path()), 0);
}

#[test]
fn lost_parents_odd_ids_and_orphans_do_not_stop_an_upgrade() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    spoil(
        &path,
        "UPDATE sessions SET repo_id = 99, pid_agent = 'abc' WHERE id = 'odd';
         UPDATE sessions SET id = 'a/b c' WHERE id = 'live';
         UPDATE events SET session_id = 'a/b c' WHERE session_id = 'live';
         UPDATE repos SET vcs = 'mercurial';
         UPDATE runtimes SET type = 'vm';
         INSERT INTO tasks (session_id, prompt) VALUES ('gone', 'p');
         INSERT INTO events (session_id, type, data) VALUES ('gone', 'x', '1')",
    );
    let (store, upgrade) = open(&path, 1).unwrap();
    assert_eq!(upgrade.dropped, 2);
    let page = PageRequest::default();
    let sessions = block_on(store.list_sessions(SessionFilter::default(), page)).unwrap().items;
    let mut seen: Vec<_> = sessions
        .iter()
        .map(|s| format!("{} {} {:?} {}", s.id, s.repo.vcs, s.repo.root_path, s.last_seq))
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "done none Some(\"/a\") 3",
            "odd none Some(\"(lost repository 99)\") 0",
            "odd-id-3 none Some(\"/a\") 1",
        ]
    );
    let subjects: Vec<_> =
        block_on(store.check()).unwrap().violations.into_iter().map(|v| v.subject).collect();
    assert_eq!(
        subjects,
        [
            "session odd: a number is not one",
            "session odd-id-3 event 1: not JSON",
            "repo 1: vcs mercurial",
            "runtime 1: type vm",
        ]
    );
}

#[test]
fn a_payload_an_older_program_spread_over_lines_is_one_line_here() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    spoil(&path, "UPDATE events SET data = '{' || char(10) || ' \"a b\": 1 }' WHERE type = 'a'");
    let (store, _) = open(&path, 1).unwrap();
    let mut document = Vec::new();
    block_on(export_session(&store, &"done".parse().unwrap(), &mut document)).unwrap();
    assert_eq!(check_export(&mut document.as_slice()).unwrap().session.last_seq, 3);
    let report = block_on(import_session(&store, &mut document.as_slice(), &mut |_| ())).unwrap();
    assert_eq!((report.imported, report.present), (0, 3));
}

fn append(store: &SqlStore, id: &SessionId) -> Result<Appended, StoreError> {
    let event = serde_json::from_str(r#"{"type":"note","data":1}"#).unwrap();
    block_on(store.append_events(id.clone(), vec![event]))
}

#[test]
fn a_backup_copied_into_place_is_a_database_again() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("state.db"), directory.path().join("copy.db"));
    let (store, _) = open(&path, 1).unwrap();
    let id = block_on(store.create_session(new_session())).unwrap().id;
    append(&store, &id).unwrap();
    store.back_up(&copy).unwrap();
    let (store, _) = open(&copy, 2).unwrap();
    assert_eq!(append(&store, &id).unwrap().last_seq, 2);
}

#[test]
fn a_backup_ends_while_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (store, _) = open(&path, 1).unwrap();
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let data = RawJson::of(&"x".repeat(100_000)).unwrap();
    let event = NewEvent { kind: "note".to_owned(), data, dedup_key: None, ts: None };
    for _ in 0..10 {
        block_on(store.append_events(id.clone(), vec![event.clone(); 40])).unwrap();
    }
    let done = AtomicBool::new(false);
    // Another store, as another process: SQLite notices its commits as foreign ones.
    let (other, _) = open(&path, 2).unwrap();
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written = 0;
            while !done.load(Ordering::Acquire) && written < 20_000 {
                append(&other, &id).unwrap();
                written += 1;
            }
            written
        });
        store.back_up(&directory.path().join("copy.db")).unwrap();
        done.store(true, Ordering::Release);
        writer.join().unwrap()
    });
    assert!(written < 20_000, "the backup outlasted {written} writes");
}

#[test]
fn restoring_moves_only_a_damaged_database_aside() {
    let directory = tempfile::tempdir().unwrap();
    let (path, copy) = (directory.path().join("state.db"), directory.path().join("copy.db"));
    let (store, _) = open(&path, 1).unwrap();
    store.back_up(&copy).unwrap();
    drop(store);
    spoil(&path, "PRAGMA user_version = 99");
    let now = TestClock::new().now();
    let refused = ah_store_sql::restore_sqlite(&path, &copy, now).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, .. }), "{refused:?}");
    std::fs::write(&path, b"this is no database at all, but long enough to be looked at").unwrap();
    let kept = ah_store_sql::restore_sqlite(&path, &copy, now).unwrap();
    assert!(kept.unwrap().to_string_lossy().contains(".damaged-"));
    open(&path, 2).unwrap();
}

fn postgres(url: &str, schema: &str, seed: usize) -> Result<(SqlStore, Upgrade), StoreError> {
    let (capabilities, clock, ids) = parts(seed);
    let options =
        PostgresOptions { schema: Some(schema.to_owned()), ..PostgresOptions::new(url.to_owned()) };
    SqlStore::connect_postgres(options, capabilities, clock, ids)
}

/// A schema that is dropped at the end.
struct Schema(Client, String);

impl Schema {
    fn new(url: &str, name: &str) -> Self {
        let name = format!("{name}_{}", std::process::id());
        Self(Client::connect(url, NoTls).unwrap(), name)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let _ = self.0.batch_execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.1));
    }
}

#[test]
fn a_fresh_postgres_schema_is_made_once_however_many_connect() {
    let Some(url) = server_url() else { return };
    let schema = Schema::new(&url, "fresh");
    let opened = together(|number| postgres(&url, &schema.1, number).unwrap());
    let made = opened.iter().filter(|(_, upgrade)| !upgrade.steps.is_empty()).count();
    assert_eq!(made, 1);
    assert_eq!(block_on(opened[0].0.check()).unwrap().violations, []);
}

#[test]
fn a_newer_postgres_schema_is_refused() {
    let Some(url) = server_url() else { return };
    let mut schema = Schema::new(&url, "newer");
    drop(postgres(&url, &schema.1, 1).unwrap());
    let newer = format!("INSERT INTO {}.schema_migrations VALUES (99, 'x', 'x', now())", schema.1);
    schema.0.batch_execute(&newer).unwrap();
    let refused = postgres(&url, &schema.1, 1).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, .. }), "{refused:?}");
}

#[test]
fn a_write_that_waits_too_long_for_postgres_is_refused_as_busy() {
    let Some(url) = server_url() else { return };
    let mut schema = Schema::new(&url, "locked");
    let (capabilities, clock, ids) = parts(1);
    let options = PostgresOptions {
        schema: Some(schema.1.clone()),
        busy_timeout: Duration::from_millis(200),
        ..PostgresOptions::new(&url)
    };
    let (store, _) = SqlStore::connect_postgres(options, capabilities, clock, ids).unwrap();
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let mut holder = schema.0.transaction().unwrap();
    let lock = format!("SELECT 1 FROM {}.sessions FOR UPDATE", schema.1);
    holder.batch_execute(&lock).unwrap();
    assert!(matches!(append(&store, &id), Err(StoreError::Busy { .. })));
    holder.rollback().unwrap();
    assert_eq!(append(&store, &id).unwrap().last_seq, 1);
}

#[test]
fn an_idle_connection_that_died_costs_no_write() {
    let Some(url) = server_url() else { return };
    let mut schema = Schema::new(&url, "died");
    let mark = if url.contains('?') { '&' } else { '?' };
    let named = format!("{url}{mark}application_name={}", schema.1);
    let (store, _) = postgres(&named, &schema.1, 1).unwrap();
    let id = block_on(store.create_session(new_session())).unwrap().id;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
    assert_eq!(schema.0.query(end, &[&schema.1]).unwrap().len(), 1);
    assert_eq!(append(&store, &id).unwrap().last_seq, 1);
}

#[test]
fn a_watch_hears_what_another_connection_of_postgres_appends() {
    let Some(url) = server_url() else { return };
    let schema = Schema::new(&url, "heard");
    let (here, _) = postgres(&url, &schema.1, 1).unwrap();
    let (there, _) = postgres(&url, &schema.1, 2).unwrap();
    let id = block_on(here.create_session(new_session())).unwrap().id;
    let mut watch = block_on(here.watch_events(id.clone(), 0)).unwrap();
    let event = serde_json::from_str(r#"{"type":"note","data":1}"#).unwrap();
    let waiting = std::thread::spawn(move || block_on(watch.next()).unwrap());
    block_on(there.append_events(id, vec![event])).unwrap();
    assert_eq!(waiting.join().unwrap().len(), 1);
}
