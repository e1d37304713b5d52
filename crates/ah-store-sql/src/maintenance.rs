//! Work on a local database as a file; a store on a server answers `Unsupported`-like errors.

use std::path::{Path, PathBuf};

use ah_store::StoreError;

use crate::SqlStore;
use crate::sqlite::{CompactReport, DatabaseStats};
use crate::tx::query_first;

/// What people care about, and its table.
const COUNTED: &[(&str, &str)] = &[
    ("agents", "agent_instances"),
    ("sessions", "sessions"),
    ("tasks", "tasks"),
    ("events", "events"),
    ("drafts", "drafts"),
    ("repos", "repos"),
    ("runs", "runs"),
    ("messages", "messages"),
    ("approvals", "approvals"),
    ("questions", "questions"),
    ("kv", "kv"),
];

impl SqlStore {
    /// Copies the database to the new file `target` while it is in use, and proves the copy sound.
    pub fn back_up(&self, target: &Path) -> Result<(), StoreError> {
        self.file()?.back_up(target)
    }

    /// Sizes of the database.
    pub fn stats(&self) -> Result<DatabaseStats, StoreError> {
        self.file()?.stats()
    }

    /// How many there are of the main nouns.
    pub async fn row_counts(&self) -> Result<Vec<(&'static str, u64)>, StoreError> {
        self.read(|tx, _| {
            let count = |(noun, table): &(&'static str, &'static str)| {
                let sql = format!("SELECT count(*) FROM {table}");
                let rows = query_first(tx, &sql, &[], |row| row.uint(0))?.unwrap_or(0);
                Ok((*noun, rows))
            };
            COUNTED.iter().map(count).collect()
        })
        .await
    }

    /// Gives unused space back to the file system while the database is in use.
    pub async fn compact(&self) -> Result<CompactReport, StoreError> {
        self.file()?.compact().await
    }

    /// The database file.
    pub fn path(&self) -> Option<PathBuf> {
        self.sqlite().map(|engine| engine.path().to_owned())
    }

    fn file(&self) -> Result<&crate::sqlite::Engine, StoreError> {
        const WHY: &str = "a PostgreSQL server keeps it; use its own tools";
        self.sqlite().ok_or_else(|| StoreError::backend("work on the database file", WHY))
    }
}
