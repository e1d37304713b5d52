//! The one opener: every connection gets the same pragmas, and unsafe places are refused.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ah_store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::backup::sync_directory;
use super::{error, place};

/// Statements kept prepared per connection: all of ours fit.
const STATEMENT_CACHE: usize = 128;
/// Pages in the WAL before a commit copies them back. 4,000 keeps the worst single append low.
const AUTOCHECKPOINT_PAGES: i64 = 4_000;
/// Cache per connection, in KiB as SQLite counts them (negative).
const CACHE_KIB: i64 = -8_192;

/// Whether a database may be made where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    Create,
    Refuse,
}

/// Opens a connection with every setting but the journal mode, which the file keeps itself.
///
/// Commits are not synced by SQLite here (`synchronous = NORMAL`): the writer syncs the WAL itself,
/// after it has let the next process in and before it acknowledges.
pub(crate) fn open(
    path: &Path,
    missing: Missing,
    busy_timeout: Duration,
) -> Result<Connection, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if missing == Missing::Create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let map = |error| error::map(error, path, "open");
    #[expect(clippy::disallowed_methods, reason = "this is the one opener")]
    let connection = Connection::open_with_flags(path, flags).map_err(map)?;
    connection.busy_timeout(busy_timeout).map_err(map)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Plans do not depend on what is bound. Else SQLite compiles every statement with a bound LIMIT
    // anew whenever it runs: a sixth of the time that mail takes, when it was measured.
    let planned_once = DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG;
    connection.set_db_config(planned_once, true).map_err(map)?;
    connection
        .execute_batch(&format!(
            "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST; \
             PRAGMA wal_autocheckpoint = {AUTOCHECKPOINT_PAGES}; PRAGMA cache_size = {CACHE_KIB};"
        ))
        .map_err(map)?;
    Ok(connection)
}

/// Makes the directory, and refuses what can never become or hold a database.
pub(crate) fn prepare_place(path: &Path) -> Result<(), StoreError> {
    if let Ok(metadata) = fs::metadata(path) {
        if metadata.is_dir() {
            let what = format!("database {}", path.display());
            return Err(StoreError::corrupt(what, "a directory stands in its place"));
        }
        place::check(path)?;
        return refuse_network(path);
    }
    let Some(directory) = path.parent() else {
        return Ok(());
    };
    create_private_directory(directory).map_err(|error| {
        StoreError::backend(format!("create directory {}", directory.display()), error)
    })?;
    place::check(path)?;
    refuse_network(directory)
}

/// Makes the directory and those above it. Each new name is synced: a power cut must not take the
/// directory with everything that was acknowledged in it.
fn create_private_directory(directory: &Path) -> std::io::Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|above| !above.exists()).collect();
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)?;
    missing.into_iter().rev().try_for_each(sync_directory)
}

/// Creates the file readable by its owner alone; SQLite gives the WAL the same mode.
pub(crate) fn create_private_file(path: &Path) -> Result<(), StoreError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => {
            Err(StoreError::backend(format!("create database {}", path.display()), error))
        }
    }
}

/// WAL needs memory shared between the processes, which a network file system does not give.
#[cfg(target_os = "linux")]
fn refuse_network(path: &Path) -> Result<(), StoreError> {
    let Ok(stat) = rustix::fs::statfs(path) else {
        return Ok(());
    };
    match network_file_system(stat.f_type as u64 & 0xffff_ffff) {
        None => Ok(()),
        Some(name) => Err(StoreError::backend(
            format!("keep a database on {name} at {}", path.display()),
            "its locks and shared memory do not reach other machines; choose a local directory",
        )),
    }
}

#[cfg(not(target_os = "linux"))]
fn refuse_network(_path: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// The name of a network file system by its magic number.
#[cfg(target_os = "linux")]
fn network_file_system(magic: u64) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x00c3_6400 => Some("Ceph"),
        0x7375_7245 => Some("Coda"),
        0x564c => Some("NCP"),
        0x0bd0_0bd0 => Some("Lustre"),
        0x4750_4653 => Some("GPFS"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::network_file_system;

    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        assert_eq!(network_file_system(0x6969), Some("NFS"));
        assert_eq!(network_file_system(0xff53_4d42), Some("SMB"));
        for local in [0xef53, 0x9123_683e, 0x5846_5342, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1] {
            assert_eq!(network_file_system(local), None);
        }
    }
}
