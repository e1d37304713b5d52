//! The same rows written by hand with rusqlite: the engine's own speed.

use std::fs::{File, OpenOptions};
use std::path::Path;

use ah_model::Timestamp;
use ah_store::{Clock, SystemClock};
use rusqlite::Connection;

/// When SQLite syncs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// In every commit.
    InCommit,
    /// Not at all; the caller syncs the WAL itself.
    ByCaller,
}

pub(crate) struct Raw {
    connection: Connection,
    payload: String,
}

impl Raw {
    #[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
    pub(crate) fn open(path: &Path, sync: Sync) -> Self {
        let connection = Connection::open(path).unwrap();
        let synchronous = if sync == Sync::InCommit { "FULL" } else { "NORMAL" };
        connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA foreign_keys = ON; PRAGMA synchronous = {synchronous}; \
                 PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8192"
            ))
            .unwrap();
        Self { connection, payload: super::given::payload() }
    }

    pub(crate) fn begin(&self) {
        self.connection.prepare_cached("BEGIN IMMEDIATE").unwrap().raw_execute().unwrap();
    }

    pub(crate) fn commit(&self) {
        self.connection.prepare_cached("COMMIT").unwrap().raw_execute().unwrap();
    }

    pub(crate) fn last_seq(&self, session: &str) -> i64 {
        let sql = "SELECT last_seq FROM sessions WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        statement.query_row([session], |row| row.get(0)).unwrap()
    }

    pub(crate) fn insert(&self, session: &str, seq: i64, now: Timestamp) {
        let sql = "INSERT INTO events (session_id, seq, ts, type, data, dedup_key) \
                   VALUES (?1, ?2, ?3, 'pre_tool', ?4, NULL)";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        statement.execute((session, seq, now.to_string(), &self.payload)).unwrap();
    }

    pub(crate) fn advance(&self, session: &str, seq: i64, now: Timestamp) {
        let sql = "UPDATE sessions SET last_seq = ?1, last_activity_at = ?2 WHERE id = ?3";
        let mut statement = self.connection.prepare_cached(sql).unwrap();
        statement.execute((seq, now.to_string(), session)).unwrap();
    }

    /// One transaction of `count` events after `last`.
    pub(crate) fn append(&self, session: &str, last: i64, count: i64) {
        let now = SystemClock.now();
        self.begin();
        for seq in last + 1..=last + count {
            self.insert(session, seq, now);
        }
        self.advance(session, last + count, now);
        self.commit();
    }
}

/// The WAL of the database, to be synced by the caller.
pub(crate) fn wal(path: &Path) -> File {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    OpenOptions::new().read(true).write(true).open(name).unwrap()
}

/// The lock file writers queue on, one of the raw contender's own.
pub(crate) fn queue(path: &Path) -> File {
    let mut name = path.as_os_str().to_owned();
    name.push("-raw-queue");
    OpenOptions::new().create(true).truncate(false).read(true).write(true).open(name).unwrap()
}
