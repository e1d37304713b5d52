//! The queue of writers: a lock file taken before `BEGIN IMMEDIATE`.
//!
//! SQLite's own busy handler sleeps and retries, so under load some processes get nothing for
//! seconds. The operating system queues waiters of a file lock instead. The lock only decides who
//! is next; what is safe is still decided by SQLite's own locks, so a program that does not know
//! it does no harm. It dies with its process.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ah_store::StoreError;

use super::backup::beside;
use super::bell::Bell;

pub(crate) struct QueueLock {
    path: PathBuf,
    file: Mutex<File>,
}

/// Holds the queue until dropped.
pub(crate) struct Turn<'a>(MutexGuard<'a, File>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Closing the file would unlock it too; nothing to do about an error here.
        let _ = self.0.unlock();
    }
}

impl QueueLock {
    pub(crate) fn open(database: &Path) -> Result<Self, StoreError> {
        let path = beside(database, "-queue");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| {
            StoreError::backend(format!("open lock file {}", path.display()), error)
        })?;
        Ok(Self { path, file: Mutex::new(file) })
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn try_take(&self) -> Result<Option<Turn<'_>>, StoreError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        match file.try_lock() {
            Ok(()) => Ok(Some(Turn(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(self.failed(error)),
        }
    }

    /// Waits for the lock as long as it takes.
    pub(crate) fn take(&self) -> Result<Turn<'_>, StoreError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.lock().map_err(|error| self.failed(error))?;
        Ok(Turn(file))
    }

    /// Waits for the lock up to `timeout`, looking again and again: for rare, long work.
    pub(crate) fn take_within(&self, timeout: Duration) -> Result<Turn<'_>, StoreError> {
        const LOOK_AGAIN: Duration = Duration::from_millis(2);
        let start = Instant::now();
        loop {
            if let Some(turn) = self.try_take()? {
                return Ok(turn);
            }
            if start.elapsed() >= timeout {
                return Err(StoreError::Busy { retry_after: timeout });
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The bell that commits ring, at the same file.
    pub(crate) fn bell(&self) -> Bell {
        Bell::new(&self.path)
    }

    fn failed(&self, error: std::io::Error) -> StoreError {
        StoreError::backend(format!("lock {}", self.path.display()), error)
    }
}
