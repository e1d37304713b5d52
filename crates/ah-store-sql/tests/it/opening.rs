//! Opening: many at once, old databases, newer ones, and what other programs left.

use std::path::Path;
use std::sync::{Arc, Barrier};

use ah_conformance::{SeededIds, TestClock};
use ah_model::{EventQuery, PageRequest, SessionFilter};
use ah_store::{Capabilities, Clock, Events, Ids, Sessions, StoreError, block_on};
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

#[test]
fn an_upgrade_that_cannot_finish_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    old_database(&path);
    #[expect(clippy::disallowed_methods, reason = "an older program writes here")]
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA foreign_keys = OFF; UPDATE sessions SET repo_id = 99 WHERE id = 'odd'",
        )
        .unwrap();
    drop(connection);
    let refused = open(&path, 1).map(drop).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    assert_eq!(ah_store_sql::inspect_sqlite(&path).unwrap().from, 2);
}

fn postgres(url: &str, schema: &str, seed: usize) -> Result<(SqlStore, Upgrade), StoreError> {
    let (capabilities, clock, ids) = parts(seed);
    let options = PostgresOptions { url: url.to_owned(), schema: Some(schema.to_owned()) };
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
