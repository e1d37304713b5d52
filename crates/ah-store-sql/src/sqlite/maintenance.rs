//! Work on the database as a file: what is in it, copies of it, space given back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ah_model::{Reclaimed, Timestamp, limits};
use ah_store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::backup::{beside, copy_database, sync_directory, verify};
use super::open::{Missing, open};
use super::{Engine, error, migrate};
use crate::migration::Upgrade;
use crate::tx::{More, Tx};

const BUSY: Duration = Duration::from_secs(10);
/// Pages given back at a time, so that writers get in between.
const COMPACT_PAGES: i64 = 2_048;
/// Bytes given back at a time while others write: a few milliseconds' work.
const RECLAIM_STEP_BYTES: u64 = 1024 * 1024;

/// How long emptying the log waits for readers.
const EMPTY_WAIT: Duration = Duration::from_millis(50);

/// What a database file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseStats {
    /// Where it is.
    pub path: PathBuf,
    /// Size of the database file.
    pub bytes: u64,
    /// Size of the write-ahead log beside it.
    pub wal_bytes: u64,
    /// Bytes inside the file that nothing uses.
    pub free_bytes: u64,
    /// Version of its schema.
    pub schema_version: i64,
}

/// What compacting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// Size of the file before.
    pub bytes_before: u64,
    /// Size of the file after.
    pub bytes_after: u64,
}

impl Engine {
    pub(crate) fn path(&self) -> &Path {
        &self.pool.path
    }

    pub(crate) fn back_up(&self, target: &Path) -> Result<(), StoreError> {
        copy_database(self.path(), target)
    }

    pub(crate) fn stats(&self) -> Result<DatabaseStats, StoreError> {
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        self.pool.with(|connection| {
            let pragma = |name| self.pragma(connection, name);
            Ok(DatabaseStats {
                path: self.path().to_owned(),
                bytes: size(self.path()),
                wal_bytes: size(&beside(self.path(), "-wal")),
                free_bytes: (pragma("freelist_count")? * pragma("page_size")?).unsigned_abs(),
                schema_version: pragma("user_version")?,
            })
        })
    }

    fn pragma(&self, connection: &Connection, name: &str) -> Result<i64, StoreError> {
        connection
            .query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
            .map_err(|error| error::map(error, self.path(), "read"))
    }

    /// Gives unused pages back to the file system in small transactions, then empties the WAL.
    pub(crate) async fn compact(&self) -> Result<CompactReport, StoreError> {
        let bytes_before = self.stats()?.bytes;
        let incremental = self.pool.with(|connection| self.pragma(connection, "auto_vacuum"))?;
        if incremental == 0 {
            // Made by a program that did not ask for it: this once, the whole file is rewritten.
            self.run("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")?;
        }
        loop {
            let left = self.pool.with(|connection| self.pragma(connection, "freelist_count"))?;
            if left == 0 {
                break;
            }
            self.write(Box::new(|tx| free_some(tx, COMPACT_PAGES))).await?;
        }
        self.run("PRAGMA wal_checkpoint(TRUNCATE)")?;
        Ok(CompactReport { bytes_before, bytes_after: self.stats()?.bytes })
    }

    /// Gives some unused pages back while others write: in steps, each a short transaction. A file
    /// that was made without the means for it gives none; [`Self::compact`] rewrites such a one.
    pub(crate) async fn reclaim(&self) -> Result<Reclaimed, StoreError> {
        let pragma = |name| self.pool.with(|connection| self.pragma(connection, name));
        let page_bytes = pragma("page_size")?.unsigned_abs().max(1);
        let (before, mut left) = (pragma("freelist_count")?, pragma("freelist_count")?);
        let pages = i64::try_from(RECLAIM_STEP_BYTES / page_bytes).unwrap_or(1).max(1);
        if pragma("auto_vacuum")? == 0 {
            return Ok(Reclaimed::default());
        }
        for _ in 0..limits::RECLAIM_BYTES_MAX / RECLAIM_STEP_BYTES {
            if left == 0 {
                break;
            }
            self.write(Box::new(move |tx| free_some(tx, pages))).await?;
            left = pragma("freelist_count")?;
        }
        let bytes = (before - left).max(0).unsigned_abs() * page_bytes;
        // What others freed meanwhile counts as not given back; none at all means: not now.
        Ok(Reclaimed { bytes, more: left > 0 && bytes > 0 })
    }

    /// Writes the whole log into the database and empties it. Whether it could: somebody who still
    /// reads an older state is not waited for long, because writers wait meanwhile.
    pub(crate) fn empty_log(&self) -> Result<bool, StoreError> {
        self.pool.with(|connection| {
            let map = |error| error::map(error, self.path(), "empty the log of");
            connection.busy_timeout(EMPTY_WAIT).map_err(map)?;
            let busy = self.pragma(connection, "wal_checkpoint(TRUNCATE)");
            connection.busy_timeout(self.pool.busy_timeout).map_err(map)?;
            Ok(busy? == 0)
        })
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.pool.with(|connection| {
            connection.execute_batch(sql).map_err(|error| error::map(error, self.path(), "compact"))
        })
    }
}

fn free_some(tx: &mut dyn Tx, pages: i64) -> Result<(), StoreError> {
    let sql = format!("PRAGMA incremental_vacuum({pages})");
    tx.query(&sql, &[], &mut |_| Ok(More::Yes))
}

/// What opening the database at `path` would do; nothing is changed, a missing file stays missing.
pub fn inspect_sqlite(path: &Path) -> Result<Upgrade, StoreError> {
    if !path.exists() {
        return Ok(Upgrade::plan(0));
    }
    if path.is_dir() {
        let what = format!("database {}", path.display());
        return Err(StoreError::corrupt(what, "a directory stands in its place"));
    }
    let connection = open(path, Missing::Refuse, BUSY)?;
    migrate::identify_at_once(&connection, path).map(Upgrade::plan)
}

/// Puts the contents of the backup `source` in place of the database at `path`.
///
/// The backup is proved sound first. A sound database is copied aside and then overwritten in one
/// transaction, which programs that have it open see as any other; a damaged one is moved aside.
/// Returns where the old data went.
pub fn restore_sqlite(
    path: &Path,
    source: &Path,
    now: Timestamp,
) -> Result<Option<PathBuf>, StoreError> {
    if !source.is_file() {
        let operation = format!("read backup {}", source.display());
        return Err(StoreError::backend(operation, "there is no such file"));
    }
    let from = open(source, Missing::Refuse, BUSY)?;
    let version = migrate::identify_at_once(&from, source)?;
    if version == 0 {
        let what = format!("backup {}", source.display());
        return Err(StoreError::corrupt(what, "it is empty"));
    }
    verify(&from, source)?;
    let lock = migrate::prepare_lock(path)?;
    let _turn = lock.take_within(BUSY)?;
    let kept = set_aside(path, &now.file_stamp())?;
    overwrite(&from, path)?;
    Ok(kept)
}

/// Keeps what is at `path`: a copy of a sound database, the files themselves of a damaged one.
fn set_aside(path: &Path, stamp: &str) -> Result<Option<PathBuf>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let copy = beside(path, &format!(".before-restore-{stamp}"));
    let sound = inspect_sqlite(path).and_then(|found| match found.from {
        0 => Ok(None),
        _ => copy_database(path, &copy).map(|()| Some(copy)),
    });
    match sound {
        Err(StoreError::Corrupt { .. }) => move_aside(path, stamp).map(Some),
        // A full disk, a newer database: it is sound, so it stays where it is.
        other => other,
    }
}

fn move_aside(path: &Path, stamp: &str) -> Result<PathBuf, StoreError> {
    let damaged = beside(path, &format!(".damaged-{stamp}"));
    let failed = |error| StoreError::backend(format!("move {} aside", path.display()), error);
    fs::rename(path, &damaged).map_err(failed)?;
    for suffix in ["-wal", "-shm"] {
        let file = beside(path, suffix);
        if file.exists() {
            fs::rename(&file, beside(&damaged, suffix)).map_err(failed)?;
        }
    }
    sync_directory(path).map_err(failed)?;
    Ok(damaged)
}

fn overwrite(from: &Connection, path: &Path) -> Result<(), StoreError> {
    super::open::create_private_file(path)?;
    let is_new = fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    let mut to = open(path, Missing::Refuse, BUSY)?;
    let map = |error| error::map(error, path, "restore");
    // Synced by the commit: nobody is waiting behind this one.
    to.execute_batch("PRAGMA synchronous = FULL").map_err(map)?;
    if !is_new {
        // Programs that have it open go on with it; only a new file can take another page size.
        to.execute_batch("PRAGMA journal_mode = WAL").map_err(map)?;
    }
    {
        let backup = Backup::new(from, &mut to).map_err(map)?;
        backup.run_to_completion(i32::MAX, Duration::ZERO, None).map_err(map)?;
    }
    to.execute_batch("PRAGMA journal_mode = WAL").map_err(map)?;
    verify(&to, path)
}
