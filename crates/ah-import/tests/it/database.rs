//! Daycare's first database: what is imported, row by row.

use std::fs;
use std::path::{Path, PathBuf};

use ah_conformance::block_on;
use ah_import::{
    ImportError, ImportOptions, ImportReport, Progress, import_daycare, import_daycare_db,
};
use ah_store::Store;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{DataDir, agents, ignore, kept, options, store, told};

/// The first schema, as its program made it.
pub(crate) const SCHEMA: &str = "
CREATE TABLE _migrations (name TEXT PRIMARY KEY, applied_at INTEGER NOT NULL);
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  descriptor TEXT NOT NULL,
  active_session_id TEXT,
  permissions TEXT NOT NULL,
  tokens TEXT,
  stats TEXT NOT NULL DEFAULT '{}',
  lifecycle TEXT NOT NULL DEFAULT 'active',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL REFERENCES agents(id) ON DELETE CASCADE,
  inference_session_id TEXT,
  created_at INTEGER NOT NULL,
  reset_message TEXT
);
CREATE INDEX idx_sessions_agent_id ON sessions(agent_id);
CREATE TABLE session_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX idx_session_history_session ON session_history(session_id);
";

/// Two agents; the sessions of the first were made while the clock went back.
const ROWS: &str = r#"
INSERT INTO agents VALUES
  ('b01', 'user', '{"type":"user","connector":"telegram","userId":"u","channelId":"c"}', 's2',
   '{"workingDir":"/srv/demo","writeDirs":[],"readDirs":[],"network":true,"events":false}',
   '{"provider":"p","model":"m","size":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"total":3}}',
   '{"p":{"m":{"total":3}}}', 'active', 1771200000000, 1771200060000),
  ('b02', 'permanent', '{"type":"permanent","id":"b02","name":"librarian"}', 's3',
   '{"workingDir":"relative","events":true}', NULL, '{}', 'dead', 1771200000000, 1771200060000);
INSERT INTO sessions VALUES
  ('s1', 'b01', 'i1', 1771200000500, NULL),
  ('s2', 'b01', 'i2', 1771200000100, 'Manual reset.'),
  ('s3', 'b02', NULL, 1771200000000, NULL);
INSERT INTO session_history (session_id, type, at, data) VALUES
  ('s1', 'user_message', 1771200000501, '{"text":"one \ud800","files":[]}'),
  ('s2', 'note', 1771200000101, '{"text":1.00,"x":{"b":1,"a":2,"b":3}}'),
  ('s1', 'note', 1771200000499, '{"text":"late"}'),
  ('s3', 'note', 1771200000001, '{}');
"#;

/// A database of its own directory.
pub(crate) struct DaycareDb(TempDir);

impl DaycareDb {
    /// With what `statements` make of it.
    pub(crate) fn new(statements: &str) -> Self {
        let file = Self(tempfile::tempdir().unwrap());
        file.run(statements);
        file
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("daycare.db")
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    #[expect(clippy::disallowed_methods, reason = "stands for Daycare")]
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// Changes it as Daycare would: in a write-ahead log that is gone afterwards.
    pub(crate) fn run(&self, statements: &str) {
        let connection = self.connect();
        let pragmas = "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF;";
        connection.execute_batch(pragmas).unwrap();
        connection.execute_batch(statements).unwrap();
        connection.close().unwrap();
    }

    pub(crate) fn import(&self, store: &dyn Store) -> ImportReport {
        self.try_import(store, false).unwrap()
    }

    pub(crate) fn try_import(
        &self,
        store: &dyn Store,
        dry_run: bool,
    ) -> Result<ImportReport, ImportError> {
        let options = ImportOptions { dry_run, ..options() };
        block_on(import_daycare_db(store, &self.path(), &options, &mut ignore))
    }

    /// Imports and compares what was told and what is kept; a dry run foretells it, a second run
    /// finds nothing new, and the file is as it was.
    pub(crate) fn check(&self, expected: &str) {
        let store = store();
        let before = self.files();
        let foretold = self.try_import(&*store, true).unwrap();
        assert_eq!(agents(&*store).len(), 0);
        let report = self.import(&*store);
        let found = format!("{}\n{}", told(&report), kept(&*store, self.dir()));
        assert_eq!(found, expected.trim_matches('\n'), "{found}");
        let minted = |mut report: ImportReport| {
            // A dry run mints no ids.
            report.details.iter_mut().for_each(|agent| agent.agent_id = None);
            report.dry_run = false;
            report
        };
        assert_eq!(minted(foretold), minted(report));
        self.check_unchanged(&*store);
        assert_eq!(self.files(), before);
    }

    pub(crate) fn check_unchanged(&self, store: &dyn Store) {
        let before = kept(store, self.dir());
        let foretold = self.try_import(store, true).unwrap();
        let report = self.import(store);
        assert_eq!(
            report.agents.unchanged,
            report.agents.found - report.agents.skipped - report.agents.failed
        );
        assert_eq!(kept(store, self.dir()), before);
        assert_eq!(ImportReport { dry_run: false, ..foretold }, report);
    }

    /// The files beside each other, with their bytes.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.dir()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
        files.sort();
        files
    }
}

fn two_agents() -> DaycareDb {
    DaycareDb::new(&format!("{SCHEMA}{ROWS}"))
}

#[test]
fn agents_sessions_and_history_come_in_the_order_they_were_written() {
    two_agents().check(
        r##"
markers 0, untimed 0, blank 0
b01 imported; sessions 2, records 3, present 0, raw 0
b02 imported; sessions 1, records 1, present 0, raw 0
agent b01 id same from daycare-db b01: user active m 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u","channelId":"c"}
  permissions {"workingDir":"/srv/demo","writeDirs":[],"readDirs":[],"network":true,"events":false}
  tokens {"provider":"p","model":"m","size":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"total":3}}
  stats {"p":{"m":{"total":3}}}
  session 1 s1 created succeeded in /srv/demo at /srv/demo 500..100 reset inference i1
    1 user_message@501 {"text":"one \ud800","files":[]}
    2 note@499 {"text":"late"}
  session 2 s2 reset running active in /srv/demo at /srv/demo 100.. inference i2 message "Manual reset."
    1 note@101 {"text":1.00,"x":{"b":1,"a":2,"b":3}}
agent librarian id same from daycare-db b02: permanent dead 0..60000
  descriptor {"type":"permanent","id":"b02","name":"librarian"}
  permissions {"workingDir":"relative","events":true}
  session 1 s3 created succeeded active in DIR at relative 0..60000 retired
    1 note@1 {}
"##,
    );
}

#[test]
fn new_rows_and_newer_state_are_picked_up() {
    let database = two_agents();
    let store = store();
    database.import(&*store);
    database.run(
        "INSERT INTO sessions VALUES ('s4', 'b01', NULL, 1771200000700, 'again');
         INSERT INTO session_history (session_id, type, at, data) VALUES
           ('s2', 'note', 1771200000600, '{}'), ('s4', 'note', 1771200000701, '{}');
         UPDATE agents SET active_session_id = 's4', lifecycle = 'sleeping',
           updated_at = 1771200070000 WHERE id = 'b01';",
    );
    assert_eq!(
        told(&database.import(&*store)),
        "markers 0, untimed 0, blank 0\n\
         b01 updated; sessions 1, records 2, present 3, raw 0\n\
         b02 unchanged; sessions 0, records 0, present 1, raw 0"
    );
    let agent = agents(&*store).remove(0);
    assert_eq!((agent.lifecycle.as_str(), agent.session_count), ("sleeping", 3));
    database.check_unchanged(&*store);
}

#[test]
fn a_write_ahead_log_that_was_left_behind_is_read() {
    let database = two_agents();
    let connection = database.connect();
    let row = "INSERT INTO session_history (session_id, type, at, data)
        VALUES ('s3', 'note', 1771200000009, '{\"in\":\"the log\"}')";
    connection.execute_batch(row).unwrap();
    assert!(database.dir().join("daycare.db-wal").metadata().unwrap().len() > 0);
    let store = store();
    let report = database.import(&*store);
    assert_eq!(report.records.imported, 5);
    drop(connection);
}

#[test]
fn later_columns_are_kept_or_named_and_missing_ones_are_empty() {
    let database = DaycareDb::new(
        r#"CREATE TABLE agents (id TEXT PRIMARY KEY, user_id TEXT, "odd ""name" REAL, descriptor TEXT);
        CREATE TABLE sessions (id TEXT, agent_id TEXT, created_at INTEGER, ended_at INTEGER,
          processed_until INTEGER);
        CREATE TABLE session_history (session_id TEXT, data TEXT, type TEXT, origin TEXT);
        CREATE TABLE users (id TEXT);
        INSERT INTO agents VALUES ('b03', 'u1', 1.5, '{"type":"cron","id":"nightly"}');
        INSERT INTO sessions VALUES ('x', 'b03', 1771200000001, 1771200000005, 3),
          ('y', 'b03', 1771200000007, NULL, NULL);
        INSERT INTO session_history VALUES ('x', '{}', 'note', 'o');"#,
    );
    database.check(
        r##"
markers 0, untimed 1, blank 0
users: a table of something else, left alone
sessions: its column processed_until is left out
session_history: its column origin is left out
b03 imported; sessions 2, records 1, present 0, raw 0
  agents:1: type: not a word, that of the descriptor is taken
  agents:1: created_at: null is no whole number
  agents:1: updated_at: null is no whole number
  session_history:1: at: no time, that of the record before is taken
agent nightly id same from daycare-db b03: cron active 1..1
  descriptor {"type":"cron","id":"nightly"}
  metadata {"daycare":{"columns":{"user_id":"u1","odd \"name":1.5}}}
  session 1 x created succeeded in DIR 1..5 reset
    1 note@1 {}
  session 2 y reset created active in DIR 7..
"##,
    );
}

#[test]
fn an_active_session_that_is_not_the_last_is_put_behind_the_others() {
    let database = two_agents();
    database.run(
        "UPDATE agents SET active_session_id = 's1' WHERE id = 'b01';
         UPDATE agents SET active_session_id = 'gone' WHERE id = 'b02';",
    );
    let store = store();
    let report = database.import(&*store);
    assert_eq!(
        told(&report),
        "markers 0, untimed 0, blank 0\n\
         b01 imported; sessions 2, records 3, present 0, raw 0\n  \
           agents: active_session_id: not the last session, put behind the others\n\
         b02 imported; sessions 1, records 1, present 0, raw 0\n  \
           agents: active_session_id: none of its sessions, the last one goes on"
    );
    let sessions = kept(&*store, database.dir());
    let sessions: Vec<_> = sessions.lines().filter(|line| line.contains("session ")).collect();
    assert_eq!(
        sessions[..2],
        [
            "  session 1 s2 created succeeded in /srv/demo at /srv/demo 100..60000 reset inference i2 message \"Manual reset.\"",
            "  session 2 s1 reset running active in /srv/demo at /srv/demo 500.. inference i1",
        ]
    );
    database.check_unchanged(&*store);
}

#[test]
fn what_came_from_the_files_does_not_come_again_from_the_database_nor_the_other_way() {
    let database = two_agents();
    let dir = DataDir::with_history("b01", "{\"type\":\"start\",\"at\":1771200000000}\n");
    let files_first = store();
    dir.import(&*files_first);
    let report = database.import(&*files_first);
    assert_eq!((report.agents.skipped, report.agents.imported), (1, 1));
    let reason = report.details[0].reason.as_deref();
    assert_eq!(reason, Some("came from Daycare's files already"));
    let database_first = store();
    database.import(&*database_first);
    let report = dir.import(&*database_first);
    let reason = report.details[0].reason.as_deref();
    assert_eq!(reason, Some("came from a Daycare database already"));
}

#[test]
fn a_database_beside_its_files_is_told_from_them() {
    let database = two_agents();
    let store = store();
    let error = block_on(import_daycare(&*store, &database.path(), &options(), &mut ignore));
    assert!(matches!(error, Err(ImportError::NotADirectory { .. })), "{error:?}");
}

#[test]
fn progress_tells_of_all_history() {
    let database = two_agents();
    let mut told = Vec::new();
    let mut note = |progress: Progress<'_>| told.push(format!("{progress:?}"));
    let path = database.path();
    block_on(import_daycare_db(&*store(), &path, &options(), &mut note)).unwrap();
    assert_eq!(
        told,
        [
            "Found { agents: 2, bytes: 86 }",
            "Agent { name: \"b01\", bytes: 84 }",
            "Agent { name: \"b02\", bytes: 2 }"
        ]
    );
}
