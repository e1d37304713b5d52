//! Makes commits durable: one sync of the WAL file after the write lock is released.
//!
//! Processes that commit while another one syncs share its work in the kernel: on a slow disk this
//! is many times faster than a sync inside each commit, and as durable, because nothing is
//! acknowledged before the sync returns. A checkpoint syncs the WAL before it copies pages back and
//! the database before the WAL is used again, so pages that left the WAL are durable as well.
//!
//! The file may be kept open: while this process has a connection nobody can delete the WAL.
//! SQLite takes no POSIX locks on the WAL, so closing this handle releases none of its locks.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use ah_store::StoreError;

use super::backup::beside;

/// Most bytes of WAL that are left behind. Who opens the database alone checks every page there, and
/// begins no new WAL, however much of it was copied back: without a bound the WAL of processes that
/// do not close grows for ever. Two to three microseconds a page against two syncs are even at about
/// twenty writes of six pages.
const LEFT_BYTES_MAX: u64 = 512 * 1024;

/// Whether an acknowledgement waits for the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// What was acknowledged survives a power cut.
    #[default]
    Full,
    /// What was acknowledged survives a crash of the program, not of the machine.
    Normal,
}

pub(crate) struct Wal {
    path: PathBuf,
    durability: Durability,
    file: OnceLock<File>,
    /// A sync has failed. The kernel may have marked the pages clean all the same, so a later sync
    /// of the WAL proves nothing about them.
    suspect: AtomicBool,
    /// Threads sync one after another: the kernel tells of a failure once for an open file, so one
    /// of two at the same time would take its own for done.
    turn: Mutex<()>,
}

impl Wal {
    pub(crate) fn new(database: &Path, durability: Durability) -> Self {
        Self {
            path: beside(database, "-wal"),
            durability,
            file: OnceLock::new(),
            suspect: AtomicBool::new(false),
            turn: Mutex::default(),
        }
    }

    /// Returns once every commit made before the call is on disk. After a failed sync that is so
    /// only when `checkpoint` has copied everything into the database and synced that.
    pub(crate) fn sync(
        &self,
        checkpoint: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.durability == Durability::Normal {
            return Ok(());
        }
        let _turn = self.turn();
        if self.suspect.load(Ordering::Acquire) {
            checkpoint()?;
            self.suspect.store(false, Ordering::Release);
            return Ok(());
        }
        self.sync_file().inspect_err(|_| self.suspect.store(true, Ordering::Release))
    }

    /// Whether it is too long to be left behind.
    pub(crate) fn is_long(&self) -> bool {
        let found = match self.file.get() {
            Some(file) => file.metadata(),
            None => std::fs::metadata(&self.path),
        };
        found.is_ok_and(|found| found.len() > LEFT_BYTES_MAX)
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A disk that takes as long as it is held.
    #[cfg(test)]
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.turn()
    }

    fn sync_file(&self) -> Result<(), StoreError> {
        let failed =
            |error| StoreError::backend(format!("sync {} to disk", self.path.display()), error);
        let file = match self.file.get() {
            Some(file) => file,
            None => {
                let file =
                    OpenOptions::new().read(true).write(true).open(&self.path).map_err(failed)?;
                self.file.get_or_init(|| file)
            }
        };
        file.sync_data().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failed_sync_only_a_checkpoint_makes_commits_durable() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("state.db");
        let wal = Wal::new(&database, Durability::Full);
        let never = || unreachable!("nothing is suspect");
        let refused = || Err(StoreError::backend("checkpoint", "the disk is gone"));
        // No file to sync: as good a failure as any.
        assert!(wal.sync(never).is_err());
        File::create(beside(&database, "-wal")).unwrap();
        assert!(wal.sync(refused).is_err(), "a sync that works now proves nothing");
        assert!(wal.sync(|| Ok(())).is_ok());
        assert!(wal.sync(never).is_ok());
    }

    #[test]
    fn only_what_is_longer_than_the_bound_is_too_long_to_be_left() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("state.db");
        let wal = Wal::new(&database, Durability::Full);
        assert!(!wal.is_long(), "there is none");
        let file = File::create(beside(&database, "-wal")).unwrap();
        for (bytes, is_long) in [(LEFT_BYTES_MAX, false), (LEFT_BYTES_MAX + 1, true)] {
            file.set_len(bytes).unwrap();
            assert_eq!(wal.is_long(), is_long, "{bytes}");
        }
    }
}
