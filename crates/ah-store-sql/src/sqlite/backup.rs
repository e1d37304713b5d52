//! Online copies of a database: consistent, verified, never half a file under the final name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ah_store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::error;
use super::open::{Missing, create_private_file, open};

/// Pages copied at a time, so that writers get in between.
const STEP_PAGES: i32 = 1_024;
const BUSY: Duration = Duration::from_secs(30);

/// Copies the database at `source` to the new file `target` and proves the copy sound.
pub(crate) fn copy_database(source: &Path, target: &Path) -> Result<(), StoreError> {
    if target.exists() {
        let operation = format!("write backup {}", target.display());
        return Err(StoreError::backend(operation, "a file of that name exists already"));
    }
    let partial = beside(target, ".partial");
    let done = copy(source, &partial).and_then(|()| finish(&partial, target));
    if done.is_err() {
        // The copy is worthless; what stays in the way of the next try is removed.
        let _ = fs::remove_file(&partial);
        let _ = fs::remove_file(beside(&partial, "-journal"));
    }
    done
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn copy(source: &Path, partial: &Path) -> Result<(), StoreError> {
    let _ = fs::remove_file(partial);
    create_private_file(partial)?;
    let from = open(source, Missing::Refuse, BUSY)?;
    let mut to = open(partial, Missing::Create, BUSY)?;
    let map = |error| error::map(error, partial, "write backup");
    // One snapshot for the whole copy: without it SQLite begins anew at every commit of others.
    let hold = "BEGIN; SELECT count(*) FROM sqlite_schema";
    from.execute_batch(hold).map_err(|error| error::map(error, source, "read"))?;
    {
        let backup = Backup::new(&from, &mut to).map_err(map)?;
        backup.run_to_completion(STEP_PAGES, Duration::ZERO, None).map_err(map)?;
    }
    // The copy is one file: no WAL beside it that could be forgotten.
    to.execute_batch("PRAGMA journal_mode = DELETE").map_err(map)?;
    verify(&to, partial)
}

/// Proves that a database is sound: structure and references.
pub(crate) fn verify(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let found: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| error::map(error, path, "check"))?;
    if found == "ok" {
        return Ok(());
    }
    Err(StoreError::corrupt(format!("database {}", path.display()), found))
}

fn finish(partial: &Path, target: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::backend(format!("write backup {}", target.display()), error);
    fs::OpenOptions::new().write(true).open(partial).and_then(|f| f.sync_all()).map_err(failed)?;
    fs::rename(partial, target).map_err(failed)?;
    sync_directory(target).map_err(failed)
}

/// Makes a new or renamed name in the directory of `path` durable.
pub(crate) fn sync_directory(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Some(directory) = path.parent() {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        return fs::File::open(directory)?.sync_all();
    }
    Ok(())
}
