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
use std::sync::OnceLock;

use ah_store::StoreError;

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
}

impl Wal {
    pub(crate) fn new(database: &Path, durability: Durability) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push("-wal");
        Self { path: PathBuf::from(name), durability, file: OnceLock::new() }
    }

    /// Returns once every commit made before the call is on disk.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        if self.durability == Durability::Normal {
            return Ok(());
        }
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
