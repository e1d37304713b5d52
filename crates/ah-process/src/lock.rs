//! A file that its holder keeps locked. The lock goes with the process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Most that is read of who holds a lock.
const HOLDER_BYTES_MAX: u64 = 256;
/// How long a lock is tried for, and how often.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(5);

/// The right to do what only one process may.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("held by {holder}")]
    Held {
        /// Who, as it said itself.
        holder: String,
    },
    /// The file system refused.
    #[error("cannot {operation} the lock: {source}")]
    File {
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Lock {
    /// Takes the lock at `path` for `holder`, or says who has it.
    pub fn take(path: &Path, holder: &str) -> Result<Self, LockError> {
        let failed = |operation| move |source| LockError::File { operation, source };
        let mut file = open_private(path).map_err(failed("open"))?;
        match lock_soon(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Who has it is only for people.
                let _ = file.take(HOLDER_BYTES_MAX).read_to_string(&mut holder);
                return Err(LockError::Held { holder: holder.trim().to_owned() });
            }
            Err(TryLockError::Error(source)) => return Err(failed("lock")(source)),
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(format!("{holder}\n").as_bytes()));
        written.map_err(failed("write"))?;
        Ok(Self { _file: file })
    }
}

/// Locks a file that nobody else holds, or holds only for a moment: a process that starts another
/// lends its locks to that one until it is a program of its own, also when it is killed meanwhile.
pub fn lock_soon(file: &File) -> Result<(), TryLockError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(PAUSE),
            tried => return tried,
        }
    }
}

/// A private file, made where there is none.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
        // No link that somebody put there is followed.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options.open(path)
}
