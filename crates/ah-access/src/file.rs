//! Files with secrets or decisions in them: looked at before they are used, written whole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest file that is read here: some hundred certificates.
const BYTES_MAX: u64 = 4 * 1024 * 1024;
/// What anybody but the owner may do.
const OTHERS: u32 = 0o077;

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Others could have read or written it.
    #[error("{} {reason}; `{mend}` mends it", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
        /// The command that helps.
        mend: String,
    },
    /// It is there already, and is never written over.
    #[error("{} is there already, and is not written over", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// It is longer than such a file can be.
    #[error("{} has more than {BYTES_MAX} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
}

impl FileError {
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source }
    }

    /// Whether there is nothing of that name.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Tells one state of a file from the next, without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileMark {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileMark {
    pub(crate) fn of(path: &Path) -> Result<Self, FileError> {
        let found = fs::metadata(path).map_err(|error| FileError::io("look at", path, error))?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// The bytes of a file that anybody may read.
pub(crate) fn read_public(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(|error| FileError::io("open", path, error))?;
    read(file, path)
}

/// The bytes of a file that only its owner, who is us, may read. Looked at once it is open.
pub(crate) fn read_private(path: &Path) -> Result<Vec<u8>, FileError> {
    let file = File::open(path).map_err(|error| FileError::io("open", path, error))?;
    let found = file.metadata().map_err(|error| FileError::io("look at", path, error))?;
    check_owner(path, &found)?;
    check_mode(path, &found, "600")?;
    read(file, path)
}

fn read(file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::io("read", path, error))?;
    match bytes.len() as u64 > BYTES_MAX {
        true => Err(FileError::TooLong { path: path.to_owned() }),
        false => Ok(bytes),
    }
}

fn check_owner(path: &Path, found: &fs::Metadata) -> Result<(), FileError> {
    let (owner, me) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner == me {
        return Ok(());
    }
    let shown = path.display();
    Err(FileError::Unsafe {
        path: path.to_owned(),
        reason: format!("belongs to user {owner}, not to {me}"),
        mend: format!("chown {me} {shown}"),
    })
}

fn check_mode(path: &Path, found: &fs::Metadata, right: &str) -> Result<(), FileError> {
    let mode = found.mode() & 0o777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let shown = path.display();
    Err(FileError::Unsafe {
        path: path.to_owned(),
        reason: format!("can be used by others (mode {mode:03o}, {right} is right)"),
        mend: format!("chmod {right} {shown}"),
    })
}

/// Makes a directory that is ours alone, with those above it.
pub(crate) fn make_private_dir(path: &Path) -> Result<(), FileError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| FileError::io("create", path, error))?;
    check_private_dir(path)
}

/// Refuses a directory that is a link, somebody else's, or open to others.
pub(crate) fn check_private_dir(path: &Path) -> Result<(), FileError> {
    let found = fs::symlink_metadata(path);
    let found = found.map_err(|error| FileError::io("look at", path, error))?;
    if !found.is_dir() {
        return Err(FileError::io("open", path, io::ErrorKind::NotADirectory.into()));
    }
    check_owner(path, &found)?;
    check_mode(path, &found, "700")
}

/// Replaces a file whole: written beside it, made durable, then renamed over it.
pub(crate) fn replace(path: &Path, bytes: &[u8], access: Access) -> Result<(), FileError> {
    let failed = |error| FileError::io("write", path, error);
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut beside =
        tempfile::Builder::new().prefix(".new.").tempfile_in(directory).map_err(failed)?;
    beside.write_all(bytes).map_err(failed)?;
    if access == Access::Public {
        let readable = std::os::unix::fs::PermissionsExt::from_mode(access.mode());
        beside.as_file().set_permissions(readable).map_err(failed)?;
    }
    beside.as_file().sync_all().map_err(failed)?;
    beside.persist(path).map_err(|error| failed(error.error))?;
    sync_dir(directory)
}

/// Writes a file that is not there yet.
pub(crate) fn create(path: &Path, bytes: &[u8], access: Access) -> Result<(), FileError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(access.mode()).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FileError::Exists { path: path.to_owned() },
        _ => FileError::io("create", path, error),
    })?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|error| FileError::io("write", path, error))?;
    sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner.
    Private,
    /// Anybody.
    Public,
}

impl Access {
    fn mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Public => 0o644,
        }
    }
}

/// A new name is durable once its directory is.
pub(crate) fn sync_dir(path: &Path) -> Result<(), FileError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|error| FileError::io("sync", path, error))
}
