//! The one opener of files with live events: nothing in them is believed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Longest row that is written or looked at.
pub(super) const ROW_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Longest that one statement may take: whoever wants to write waits so long at most.
const STATEMENT_MAX: Duration = Duration::from_millis(60);
/// Steps of the engine between two looks at the time; some tens of microseconds.
const STEPS: i32 = 1_000;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ts INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload_json TEXT NOT NULL
)";

/// An open file.
#[derive(Debug)]
pub(super) struct Database {
    pub(super) connection: Connection,
    /// When the statement under way must be done, in milliseconds from `opened`; 0 is never.
    deadline: Arc<AtomicU64>,
    opened: Instant,
}

/// That another process is in the way for now.
pub(super) const LOCKED: &str = "somebody holds it locked";

/// That what is in it cannot be read as what SQLite writes.
pub(super) const DAMAGED: &str = "it is damaged";

/// That a statement took too long, for whatever reason.
pub(super) const SLOW: &str = "it takes too long to read";

/// Why a file is not used, in words.
pub(super) type Reason = String;

impl Database {
    /// Opens a file that is there.
    pub(super) fn open(path: &Path, busy: Duration) -> Result<Self, Reason> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        #[expect(clippy::disallowed_methods, reason = "an agent's own file, not the store's")]
        let connection = Connection::open_with_flags(path, flags).map_err(reason)?;
        let (deadline, opened) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let mut database = Self { connection, deadline, opened };
        database.distrust(busy).map_err(reason)?;
        Ok(database)
    }

    fn distrust(&mut self, busy: Duration) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        connection.busy_timeout(busy)?;
        for (config, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(config, on)?;
        }
        for (limit, most) in [
            (Limit::SQLITE_LIMIT_LENGTH, i32::try_from(ROW_BYTES_MAX).unwrap_or(i32::MAX)),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, 4_096),
            (Limit::SQLITE_LIMIT_COLUMN, 64),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 32),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, most)?;
        }
        let (deadline, opened) = (Arc::clone(&self.deadline), self.opened);
        let is_over = move || {
            let deadline = deadline.load(Ordering::Relaxed);
            deadline != 0 && elapsed_ms(opened) > deadline
        };
        connection.progress_handler(STEPS, Some(is_over))?;
        connection.execute_batch(
            "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -256; \
             PRAGMA temp_store = MEMORY",
        )
    }

    /// Makes the table where there is none, as a writer does. Nothing is synced: that would take
    /// 14 ms for each event on a plain disk, and what was written survives the end of the process
    /// without it.
    pub(super) fn prepare(&self, pages_max: u64) -> Result<(), Reason> {
        let settings = format!(
            "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = TRUNCATE; \
             PRAGMA synchronous = OFF; PRAGMA max_page_count = {pages_max}"
        );
        self.connection.execute_batch(&settings).map_err(reason)?;
        self.connection.execute_batch(CREATE).map_err(reason)
    }

    /// From now on a statement has little time.
    pub(super) fn hurry(&self) {
        let most = u64::try_from(STATEMENT_MAX.as_millis()).unwrap_or(u64::MAX);
        self.deadline.store(elapsed_ms(self.opened) + most, Ordering::Relaxed);
    }

    /// Refuses everything but the one plain table.
    pub(super) fn check(&self) -> Result<(), Reason> {
        let text = "SELECT type, name, rootpage FROM sqlite_schema LIMIT 8";
        let mut has_events = false;
        for (kind, name, page) in self.rows(text)? {
            match (&*kind, &*name, page) {
                ("table", "events", 1..) => has_events = true,
                ("table", "sqlite_sequence", 1..) => {}
                _ => return Err(format!("it holds more than the table of events: {kind} {name}")),
            }
        }
        if !has_events {
            return Err("it has no table of events".to_owned());
        }
        let columns = self.rows("SELECT type, name, hidden FROM pragma_table_xinfo('events')")?;
        let names: Vec<&str> = columns.iter().map(|(_, name, _)| &**name).collect();
        if names != ["id", "ts", "kind", "payload_json"] {
            return Err(format!("its table of events has other columns: {}", names.join(", ")));
        }
        match columns.iter().find(|(_, _, hidden)| *hidden != 0) {
            Some((_, name, _)) => Err(format!("its column {name} is computed")),
            None => Ok(()),
        }
    }

    fn rows(&self, text: &str) -> Result<Vec<(String, String, i64)>, Reason> {
        let read = || -> rusqlite::Result<Vec<(String, String, i64)>> {
            let mut statement = self.connection.prepare(text)?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        };
        read().map_err(reason)
    }
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The engine's error in words that name no path of the host.
pub(super) fn reason(error: rusqlite::Error) -> Reason {
    let code = error.sqlite_error_code();
    let words = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LOCKED,
        Some(ErrorCode::DatabaseCorrupt) => DAMAGED,
        Some(ErrorCode::NotADatabase) => "it is no database",
        Some(ErrorCode::DiskFull) => "there is no space left for it",
        Some(ErrorCode::OperationInterrupted) => SLOW,
        Some(ErrorCode::TooBig) => "a row of it is too large",
        Some(ErrorCode::CannotOpen) => "it cannot be opened",
        _ => return error.to_string(),
    };
    words.to_owned()
}
