//! Files that appear whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::error::{CommandError, Exit};

/// A file that becomes `path` only when it is whole.
pub(crate) fn beside(path: &Path) -> Result<tempfile::NamedTempFile, CommandError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))
        .map_err(|error| CommandError::file("write", path, &error))
}

/// Gives the file its name, durably.
pub(crate) fn finish(mut file: tempfile::NamedTempFile, path: &Path) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| CommandError::file("write", path, &error);
    file.flush().map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path)
        .map(drop)
        .map_err(|error| CommandError::new(Exit::Failed, format!("cannot write: {}", error.error)))
}
