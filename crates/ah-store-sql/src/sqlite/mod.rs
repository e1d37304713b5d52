//! The SQLite engine: one file, many processes.

mod backup;
mod bell;
mod error;
mod maintenance;
mod migrate;
mod open;
mod place;
mod poll;
mod pool;
mod queue_lock;
mod repair;
mod tx;
mod wal;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ah_model::Timestamp;
use ah_store::StoreError;
use tokio::sync::watch;

pub use maintenance::{CompactReport, DatabaseStats, inspect_sqlite, restore_sqlite};
pub use wal::Durability;

use self::poll::Poll;
use self::pool::Pool;
use self::tx::SqliteTx;
use self::wal::Wal;
use self::writer::Writer;
use crate::Job;
use crate::hub::Hub;
use crate::migration::Upgrade;

/// How a SQLite store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The database file; made with its directory when absent.
    pub path: PathBuf,
    /// Whether an acknowledgement waits for the disk.
    pub durability: Durability,
    /// How long a write waits for others before it gives up as busy.
    pub busy_timeout: Duration,
    /// Who writes.
    pub callers: Callers,
}

/// Who calls a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// Threads of their own: a lone one does its own work and pays for no queue.
    Threads,
    /// Tasks that share few threads: the disk is waited for on the writer's thread, not on theirs.
    Tasks,
}

impl SqliteOptions {
    /// The database at `path` with the safe settings.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let (durability, busy_timeout) = (Durability::Full, Duration::from_secs(10));
        Self { path: path.into(), durability, busy_timeout, callers: Callers::Threads }
    }
}

pub(crate) struct Engine {
    pool: Arc<Pool>,
    writer: Arc<Writer>,
    hub: Hub,
    poll: Arc<Poll>,
}

impl Engine {
    pub(crate) fn open(
        options: SqliteOptions,
        now: Timestamp,
    ) -> Result<(Self, Upgrade), StoreError> {
        let SqliteOptions { path, durability, busy_timeout, callers } = options;
        let lock = migrate::prepare(&path)?;
        let (connection, upgrade) = migrate::open_current(&path, &lock, busy_timeout, now)?;
        let hub = Hub::new();
        let wal = Wal::new(&path, durability);
        let pool = Arc::new(Pool::new(path, busy_timeout, connection));
        let writer = Writer::new(Arc::clone(&pool), lock, wal, hub.clone(), callers);
        Ok((Self { pool, writer, hub, poll: Arc::default() }, upgrade))
    }

    pub(crate) async fn write(&self, job: Job) -> Result<(), StoreError> {
        self.writer.write(job).await
    }

    /// Runs `job` on one snapshot of the database.
    pub(crate) fn read(&self, mut job: Job) -> Result<(), StoreError> {
        let path = self.pool.path.as_path();
        self.pool.with(|connection| {
            let mut tx = SqliteTx::new(connection, path);
            tx.control("BEGIN", "read")?;
            let done = job(&mut tx);
            // After a broken page not even a commit of nothing works; there is nothing to keep.
            if tx.control("COMMIT", "read").is_err() && !connection.is_autocommit() {
                tx.control("ROLLBACK", "read")?;
            }
            done
        })
    }

    /// Whether what closing would save the next process is worth its time.
    pub(crate) fn is_close_due(&self) -> bool {
        self.writer.is_wal_long()
    }

    /// A subscription to every process's commits from now on.
    pub(crate) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        self.poll.subscribe(&self.pool, &self.hub, self.writer.bell())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.writer.close();
    }
}
