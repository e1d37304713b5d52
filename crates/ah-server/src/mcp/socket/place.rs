//! The directory of the sockets: ours alone, and one server's at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError, create_dir_all, symlink_metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ah_model::Agent;
use rustix::process::{Uid, geteuid};

use super::SOCKET;
use super::listen::{named, unnamed};

/// A directory that this server has.
pub(in crate::mcp) struct Place {
    root: PathBuf,
    /// Held as long as the server lives; the system gives it up with the process.
    _lock: File,
}

impl Place {
    /// Makes the directory if it is not there, checks it, and takes it.
    pub(in crate::mcp) fn take(root: &Path) -> Result<Self> {
        if let Some(above) = root.parent() {
            create_dir_all(above).map_err(|error| named(above, &error))?;
        }
        own_dir(root)?;
        let path = root.join("lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(|error| named(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                let reason = format!("{}: another server has its sockets here", root.display());
                Err(Error::new(ErrorKind::AddrInUse, reason))
            }
            Err(TryLockError::Error(error)) => Err(named(&path, &error)),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory below it that has these names, made and checked on the way.
    pub(super) fn dir(&self, names: &[&str]) -> Result<PathBuf> {
        let mut path = self.root.clone();
        for name in names {
            path.push(name);
            own_dir(&path)?;
        }
        Ok(path)
    }

    /// Removes what servers before have left for agents that are not among `names`.
    pub(super) fn forget_others(&self, names: &[&str]) {
        let Ok(entries) = std::fs::read_dir(self.root.join("agents")) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let left = name.to_str().filter(|name| Agent::check_name(name).is_ok());
            if left.is_none_or(|name| names.contains(&name)) {
                continue;
            }
            let socket = entry.path().join(SOCKET);
            let is_socket = |path: &Path| {
                symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
            };
            // Only what is certainly ours: a socket, and a directory that is empty without it.
            if own_dir_as_it_is(&entry.path()).is_ok() {
                for left in [unnamed(&socket), socket].iter().filter(|path| is_socket(path)) {
                    let _ = std::fs::remove_file(left);
                }
                let _ = std::fs::remove_dir(entry.path());
            }
        }
    }
}

/// A directory of ours that nobody else can enter, made if it is not there.
fn own_dir(path: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(named(path, &error)),
    }
    own_dir_as_it_is(path)
}

/// Why something of the user `owner` is not `own`'s.
pub(super) fn of_another(owner: u32, own: Uid) -> Option<String> {
    (owner != own.as_raw()).then(|| format!("belongs to user {owner}, not to this one"))
}

/// Refuses a directory that is not safe. Nothing is repaired: who made it so may still be there.
fn own_dir_as_it_is(path: &Path) -> Result<()> {
    let found = symlink_metadata(path).map_err(|error| named(path, &error))?;
    let reason = if found.is_symlink() {
        "is a symbolic link".to_owned()
    } else if !found.is_dir() {
        "is no directory".to_owned()
    } else if let Some(reason) = of_another(found.uid(), geteuid()) {
        reason
    } else if found.mode() & 0o077 != 0 {
        format!("others may enter it (mode {:o}): chmod 700 it", found.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::PermissionDenied, format!("{} {reason}", path.display())))
}
