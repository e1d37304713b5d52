//! One loop per agent and machine: a file that its holder keeps locked. The lock goes with the
//! process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use super::ResidentError;

/// Most that is read of who holds a lock.
const HOLDER_BYTES_MAX: u64 = 256;

/// The right to run an agent's loop on this machine.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of `agent` at `path` for `holder`, or says who has it.
    pub(super) fn take(path: &Path, agent: &str, holder: &str) -> Result<Self, ResidentError> {
        let failed = |operation| {
            let path = path.to_owned();
            move |source| ResidentError::File { operation, path, source }
        };
        let mut file = open(path).map_err(failed("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Who has it is only for people.
                let _ = file.take(HOLDER_BYTES_MAX).read_to_string(&mut holder);
                let (agent, holder) = (agent.to_owned(), holder.trim().to_owned());
                return Err(ResidentError::Held { agent, holder });
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

/// A private file, made where there is none.
pub(super) fn open(path: &Path) -> std::io::Result<File> {
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
