//! Replacing a small file whole: written beside it, made durable, then renamed over it.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

/// Who may read a file that did not exist before; an existing one keeps its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Its owner only.
    Private,
    /// Everybody.
    Shared,
}

/// Writes `text` to `path`, creating its directories; a reader sees the old file or the new one.
/// A symbolic link stays one: what it points to is replaced.
pub(crate) fn write(path: &Path, access: Access, text: &str) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = target.parent().unwrap_or(Path::new("."));
    create_directories(directory, access)?;
    replace(&target, directory, permissions(&target, access), text)
}

/// Writes `text` to `path` so that only its owner can read it, whatever was there before.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    create_directories(directory, Access::Private)?;
    replace(path, directory, None, text)
}

/// A temporary file is private from its first moment.
fn replace(
    target: &Path,
    directory: &Path,
    permissions: Option<Permissions>,
    text: &str,
) -> io::Result<()> {
    let mut temporary = tempfile::Builder::new().prefix(".config.").tempfile_in(directory)?;
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|error| error.error)?;
    sync_directory(directory)
}

/// A temporary file is private already, which is right for a new private file.
fn permissions(target: &Path, access: Access) -> Option<Permissions> {
    match fs::metadata(target) {
        Ok(metadata) => Some(metadata.permissions()),
        Err(_) if access == Access::Shared => shared_permissions(),
        Err(_) => None,
    }
}

#[cfg(unix)]
fn shared_permissions() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn shared_permissions() -> Option<Permissions> {
    None
}

#[cfg(unix)]
fn create_directories(directory: &Path, access: Access) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let mode = match access {
        Access::Private => 0o700,
        Access::Shared => 0o755,
    };
    fs::DirBuilder::new().recursive(true).mode(mode).create(directory)
}

#[cfg(not(unix))]
fn create_directories(directory: &Path, _access: Access) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// A rename is durable once its directory is; other systems cannot open directories.
fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
