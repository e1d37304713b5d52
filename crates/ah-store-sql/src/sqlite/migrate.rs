//! Brings a SQLite file to the current schema, whoever else opens it at the same time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ah_model::Timestamp;
use ah_store::StoreError;
use rusqlite::Connection;

use super::backup::{beside, copy_database, sync_directory};
use super::error;
use super::open::{Missing, create_private_file, open, prepare_place};
use super::queue_lock::QueueLock;
use super::repair::repair;
use crate::migration::{
    MIGRATIONS, Migration, RECORD, RECORDED_FROM, SCHEMA_VERSION, Upgrade, checksum, pending,
};

/// "AHDB", set by version 3.
const APPLICATION_ID: i64 = 1_095_255_106;

/// Opens the database at `path` and applies what is missing.
///
/// The common case, a current database, costs three small reads. Everything else
/// happens under the queue lock, so that of fifty processes one migrates and the others find it
/// done.
pub(crate) fn open_current(
    path: &Path,
    lock: &QueueLock,
    busy_timeout: Duration,
    now: Timestamp,
) -> Result<(Connection, Upgrade), StoreError> {
    let connection = open(path, Missing::Refuse, busy_timeout)?;
    if is_current(&connection, path)? {
        return Ok((connection, Upgrade::plan(SCHEMA_VERSION)));
    }
    identify_at_once(&connection, path)?;
    let _turn = lock.take_within(busy_timeout.max(Duration::from_secs(60)))?;
    let upgrade = migrate(&connection, path, now)?;
    Ok((connection, upgrade))
}

/// Makes the directory, the lock file and an empty private database file.
pub(crate) fn prepare(path: &Path) -> Result<QueueLock, StoreError> {
    prepare_place(path)?;
    let lock = QueueLock::open(path)?;
    create_private_file(path)?;
    Ok(lock)
}

/// Makes the directory and the lock file, whatever stands in the database's place.
pub(crate) fn prepare_lock(path: &Path) -> Result<QueueLock, StoreError> {
    if let Some(directory) = path.parent() {
        prepare_place(&directory.join("-"))?;
    }
    QueueLock::open(path)
}

/// As [`identify`], on one state of the file: another process may be making it right now, and an
/// empty version beside its new tables would look like somebody else's database.
pub(crate) fn identify_at_once(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let run = |sql| connection.execute_batch(sql).map_err(|error| error::map(error, path, "read"));
    run("BEGIN")?;
    let version = identify(connection, path);
    let ended = run("COMMIT");
    // What was found first is what is told: a damaged file may refuse the end as well.
    let version = version?;
    ended.map(|()| version)
}

/// The schema version, after making sure that the file is ours and not newer than this program.
fn identify(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let map = |error| error::map(error, path, "read");
    let version: i64 = pragma(connection, "user_version").map_err(map)?;
    if version > SCHEMA_VERSION {
        let what = format!("database {}", path.display());
        return Err(StoreError::Newer { what, found: version, supported: SCHEMA_VERSION });
    }
    let application_id: i64 = pragma(connection, "application_id").map_err(map)?;
    let is_ours = match version {
        0 => is_empty(connection).map_err(map)?,
        // The seed's own databases carry no application id.
        1 | 2 => application_id == 0 && has_sessions(connection).map_err(map)?,
        _ => application_id == APPLICATION_ID,
    };
    if is_ours {
        return Ok(version);
    }
    let what = format!("database {}", path.display());
    Err(StoreError::corrupt(what, "it belongs to another program, or was never finished"))
}

/// Whether there is nothing to do. A version is written last, so what has ours is complete; a
/// copied backup has it too, but is not in WAL mode, which our writes rely on.
fn is_current(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let map = |error| error::map(error, path, "read");
    if pragma(connection, "user_version").map_err(map)? != SCHEMA_VERSION {
        return Ok(false);
    }
    let mode = connection.query_row("PRAGMA journal_mode", [], |row| row.get::<_, String>(0));
    let is_ours = pragma(connection, "application_id").map_err(map)? == APPLICATION_ID;
    Ok(is_ours && mode.map_err(map)? == "wal")
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

fn has_sessions(connection: &Connection) -> rusqlite::Result<bool> {
    const SESSIONS: &str = "SELECT count(*) = 1 FROM sqlite_schema WHERE name = 'sessions'";
    connection.query_row(SESSIONS, [], |row| row.get(0))
}

fn migrate(connection: &Connection, path: &Path, now: Timestamp) -> Result<Upgrade, StoreError> {
    let map = |error| error::map(error, path, "upgrade");
    // Takes effect on an empty file only: lets space be given back without rewriting the file.
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL").map_err(map)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(map)?;
    if mode != "wal" {
        return Err(StoreError::backend(
            format!("use database {}", path.display()),
            format!("its file system allows journal mode {mode} only, WAL is needed"),
        ));
    }
    // Tables are rebuilt: references are checked at the end instead of at every step, and this
    // cannot be switched inside the transaction.
    connection.execute_batch("PRAGMA foreign_keys = OFF; BEGIN EXCLUSIVE").map_err(map)?;
    let done = migrate_inside(connection, path, now);
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = connection.execute_batch(end).map_err(map);
    connection.execute_batch("PRAGMA foreign_keys = ON").map_err(map)?;
    let upgrade = done?;
    ended?;
    // The commit itself must be on disk before anything is acknowledged on top of it.
    connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)").map_err(map)?;
    Ok(upgrade)
}

fn migrate_inside(
    connection: &Connection,
    path: &Path,
    now: Timestamp,
) -> Result<Upgrade, StoreError> {
    // Another process may have done it while this one waited for the lock.
    let from = identify(connection, path)?;
    let mut upgrade = Upgrade::plan(from);
    if from == 0 {
        sync_names_above(path);
    }
    if from > 0 && from < SCHEMA_VERSION {
        upgrade.backup = Some(back_up(path, from, now)?);
    }
    match apply_steps(connection, path, from, now) {
        Ok(dropped) => Ok(Upgrade { dropped, ..upgrade }),
        Err(error) => {
            // Nothing was changed, so the copy keeps nothing that is not still there.
            let _ = upgrade.backup.map(std::fs::remove_file);
            Err(error)
        }
    }
}

/// Repairs, applies what is missing and checks; how many rows were left out.
fn apply_steps(
    connection: &Connection,
    path: &Path,
    from: i64,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let map = |error| error::map(error, path, "upgrade");
    let dropped = match from {
        1 | 2 => repair(connection).map_err(map)?,
        _ => 0,
    };
    for step in pending(from) {
        apply(connection, step, from, now).map_err(|error| {
            let step = format!("step {}__{}", step.version, step.name);
            StoreError::backend(format!("upgrade database {} ({step})", path.display()), error)
        })?;
    }
    let broken: i64 = connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .map_err(map)?;
    if broken > 0 {
        let what = format!("database {}", path.display());
        let source = format!("{broken} rows refer to rows that do not exist; nothing was changed");
        return Err(StoreError::corrupt(what, source));
    }
    Ok(dropped)
}

/// Makes the names of a new database's directories durable once more: a process that made one of
/// them may have been killed before it could. Directories that may not be read are not ours.
fn sync_names_above(path: &Path) {
    for name in path.ancestors() {
        let _ = sync_directory(name);
    }
}

fn apply(
    connection: &Connection,
    step: &Migration,
    from: i64,
    now: Timestamp,
) -> rusqlite::Result<()> {
    connection.execute_batch(step.sqlite)?;
    if step.version == RECORDED_FROM {
        // A database that came with older steps has them recorded now.
        let earlier = MIGRATIONS.iter().filter(|earlier| earlier.version < step.version);
        earlier.filter(|_| from < RECORDED_FROM).try_for_each(|e| record(connection, e, now))?;
    }
    if step.version >= RECORDED_FROM {
        record(connection, step, now)?;
    }
    connection.execute_batch(&format!("PRAGMA user_version = {}", step.version))
}

fn record(connection: &Connection, step: &Migration, now: Timestamp) -> rusqlite::Result<()> {
    let values = (step.version, step.name, checksum(step.sqlite), now.to_string());
    connection.execute(RECORD, values).map(drop)
}

/// Copies the database beside itself. The transaction that is open keeps every other writer out,
/// so the copy is exactly what the migration starts from.
fn back_up(path: &Path, version: i64, now: Timestamp) -> Result<PathBuf, StoreError> {
    let target = beside(path, &format!(".backup-v{version}-{}", now.file_stamp()));
    copy_database(path, &target)?;
    Ok(target)
}
