//! Files that only their owner may read: written so, and refused when they are not.

use std::io;
use std::path::Path;

use crate::config::write_private;
use crate::error::{CommandError, Exit};

/// Longest secret file that is read.
const BYTES_MAX: u64 = 1024 * 1024;

/// The text of a private file; nothing when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, CommandError> {
    let failed = |error: &io::Error| CommandError::file("read", path, error);
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    check(path, &metadata)?;
    if metadata.len() > BYTES_MAX {
        return Err(unsafe_file(path, "is too large for a token"));
    }
    std::fs::read_to_string(path).map(Some).map_err(|error| failed(&error))
}

fn unsafe_file(path: &Path, what: &str) -> CommandError {
    let path = path.display();
    CommandError::new(Exit::NotAllowed, format!("{path} {what}, so it is not used"))
        .hint(format!("look at it, then `rm {path}`; it is made again when it is needed"))
}

/// Refuses what somebody else could have written or read.
#[cfg(unix)]
fn check(path: &Path, metadata: &std::fs::Metadata) -> Result<(), CommandError> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    if !metadata.file_type().is_file() {
        return Err(unsafe_file(path, "is not a plain file"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(unsafe_file(path, "belongs to somebody else"));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let what = format!("can be read by others (mode {mode:03o}, 600 is right)");
        return Err(unsafe_file(path, &what));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check(path: &Path, metadata: &std::fs::Metadata) -> Result<(), CommandError> {
    match metadata.file_type().is_file() {
        true => Ok(()),
        false => Err(unsafe_file(path, "is not a plain file")),
    }
}

/// Writes a private file whole; its directory is made, private too, if need be.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    write_private(path, text).map_err(|error| CommandError::file("write", path, &error))
}
