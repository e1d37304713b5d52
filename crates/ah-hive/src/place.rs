//! Directories of the host, held open while they are used.
//!
//! What stands in a home was put there by an agent. Every step from the state directory down is
//! taken from an open directory to a name in it, never through a symbolic link, and looked at once it
//! is open, so that nothing can be exchanged between the look and the use. What is not as it must be
//! is refused, not repaired.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::HostError;

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
const PRIVATE: u32 = 0o700;
const OTHERS_WRITE: u32 = 0o002;
/// Others may add to such a directory, but not replace what is not theirs.
const STICKY: u32 = 0o1000;

/// An open directory and what it is called.
#[derive(Debug)]
pub(crate) struct Dir {
    file: File,
    path: PathBuf,
}

impl Dir {
    /// The state directory, if it is there. The way to it is the operator's, so links are followed.
    pub(crate) fn root(path: &Path) -> Result<Option<Self>, HostError> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(failed("open", path, source)),
        };
        let Some(dir) = Self::opened(sys::openat(sys::CWD, &real, DIRECTORY, Mode::empty()), real)?
        else {
            return Ok(None);
        };
        let stat = dir.own_stat()?;
        if stat.st_mode & OTHERS_WRITE != 0 && stat.st_mode & STICKY == 0 {
            return Err(refused(&dir.path, "anybody may write to it"));
        }
        check_owner(&stat, &dir.path)?;
        Ok(Some(dir))
    }

    /// The state directory, made where there is none.
    pub(crate) fn make_root(path: &Path) -> Result<Self, HostError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, PRIVATE);
        builder.create(path).map_err(|source| failed("create", path, source))?;
        Self::root(path)?.ok_or_else(|| missing(path))
    }

    /// The directory of that name in this one, if it is there; private, ours and no link.
    pub(crate) fn child(&self, name: &str) -> Result<Option<Self>, HostError> {
        let path = self.path.join(name);
        let opened = sys::openat(&self.file, name, DIRECTORY, Mode::empty());
        let Some(dir) = Self::opened(opened, path)? else {
            return Ok(None);
        };
        let stat = dir.own_stat()?;
        check_owner(&stat, &dir.path)?;
        let mode = stat.st_mode & 0o777;
        if mode != PRIVATE {
            let reason = format!("its mode is {mode:04o}, it must be {PRIVATE:04o}");
            return Err(refused(&dir.path, reason));
        }
        Ok(Some(dir))
    }

    /// As [`Self::child`], where not being there is an error.
    pub(crate) fn need(&self, name: &str) -> Result<Self, HostError> {
        self.child(name)?.ok_or_else(|| missing(&self.path.join(name)))
    }

    /// The directory of that name in this one, made where there is none.
    pub(crate) fn make(&self, name: &str) -> Result<Self, HostError> {
        match sys::mkdirat(&self.file, name, Mode::from_raw_mode(PRIVATE)) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(self.failed("create", name, error)),
        }
        self.need(name)
    }

    fn opened(
        opened: rustix::io::Result<std::os::fd::OwnedFd>,
        path: PathBuf,
    ) -> Result<Option<Self>, HostError> {
        match opened {
            Ok(fd) => Ok(Some(Self { file: File::from(fd), path })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                // Only for the words: it is refused either way.
                let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
                let what = if is_link { "it is a symbolic link" } else { "it is no directory" };
                Err(refused(&path, what))
            }
            Err(error) => Err(failed("open", &path, error.into())),
        }
    }

    /// Where it is, for messages and for programs that want a path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The open directory.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    fn own_stat(&self) -> Result<Stat, HostError> {
        sys::fstat(&self.file).map_err(|error| failed("look at", &self.path, error.into()))
    }

    /// Waits until no other process works here; until the answer is dropped, none does.
    pub(crate) fn lock(&self) -> Result<Lock, HostError> {
        let lock = sys::openat(&self.file, ".", DIRECTORY, Mode::empty());
        let file = lock.map(File::from).map_err(|error| self.failed("lock", "", error))?;
        file.lock().map_err(|source| failed("lock", &self.path, source))?;
        Ok(Lock { _file: file })
    }

    /// As [`Self::lock`], but does not wait.
    pub(crate) fn try_lock(&self) -> Result<Option<Lock>, HostError> {
        let lock = sys::openat(&self.file, ".", DIRECTORY, Mode::empty());
        let file = lock.map(File::from).map_err(|error| self.failed("lock", "", error))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => Err(failed("lock", &self.path, source)),
        }
    }

    /// What that name is, not what it may point to.
    pub(crate) fn stat(&self, name: &OsStr) -> Result<Option<Stat>, HostError> {
        match sys::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("look at", &self.path.join(name), error.into())),
        }
    }

    /// At most `max` of the names in it, in no order.
    pub(crate) fn names(&self, max: usize) -> Result<Vec<OsString>, HostError> {
        names_in(&self.file, max).map_err(|source| failed("list", &self.path, source))
    }

    /// What a small file holds, if it is there; a private file of ours, at most `max` bytes.
    pub(crate) fn read_small(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, HostError> {
        let path = self.path.join(name);
        // Without waiting: opening a pipe would wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match sys::openat(&self.file, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(refused(&path, "it is a symbolic link")),
            Err(error) => return Err(failed("open", &path, error.into())),
        };
        let stat = sys::fstat(&file).map_err(|error| failed("look at", &path, error.into()))?;
        check_file(&stat, &path)?;
        let mut bytes = Vec::new();
        let read = file.take(max + 1).read_to_end(&mut bytes);
        read.map_err(|source| failed("read", &path, source))?;
        if bytes.len() as u64 > max {
            return Err(refused(&path, format!("it holds more than {max} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Replaces a small file whole: written beside it, made durable, then renamed over it.
    pub(crate) fn write_small(&self, name: &str, bytes: &[u8]) -> Result<(), HostError> {
        let path = self.path.join(name);
        if let Some(stat) = self.stat(OsStr::new(name))? {
            check_file(&stat, &path)?;
        }
        let beside = format!(".{name}.{}", std::process::id());
        self.remove_file(&beside)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = sys::openat(&self.file, &*beside, flags, Mode::from_raw_mode(0o600));
        let file = file.map(File::from).map_err(|error| self.failed("create", &beside, error));
        let write = |mut file: File| file.write_all(bytes).and_then(|()| file.sync_all());
        let written = file.and_then(|file| {
            write(file).map_err(|source| failed("write", &path, source))?;
            let renamed = sys::renameat(&self.file, &*beside, &self.file, name);
            renamed.map_err(|error| failed("write", &path, error.into()))
        });
        if let Err(error) = written {
            self.remove_file(&beside)?;
            return Err(error);
        }
        self.sync()
    }

    /// Removes a name that is no directory, if it is there.
    pub(crate) fn remove_file(&self, name: &str) -> Result<(), HostError> {
        match sys::unlinkat(&self.file, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed("remove", name, error)),
        }
    }

    /// Moves `name` to `to`, in `other`, if nothing has that name there: the answer says so.
    pub(crate) fn rename(&self, name: &OsStr, other: &Self, to: &str) -> Result<bool, HostError> {
        // An empty directory would be replaced without a word.
        if other.stat(OsStr::new(to))?.is_some() {
            return Ok(false);
        }
        match sys::renameat(&self.file, name, &other.file, to) {
            Ok(()) => {
                self.sync()?;
                other.sync().map(|()| true)
            }
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            Err(error) => Err(failed("move", &self.path.join(name), error.into())),
        }
    }

    /// Gives the file `name` a second name in `other`; of a link, the link itself.
    pub(crate) fn link(&self, name: &str, other: &Self, to: &str) -> Result<(), HostError> {
        let linked = sys::linkat(&self.file, name, &other.file, to, AtFlags::empty());
        linked.map_err(|error| self.failed("link", name, error))
    }

    /// A new name is durable once its directory is.
    fn sync(&self) -> Result<(), HostError> {
        self.file.sync_all().map_err(|source| failed("sync", &self.path, source))
    }

    fn failed(&self, operation: &'static str, name: &str, error: Errno) -> HostError {
        failed(operation, &self.path.join(name), error.into())
    }
}

/// Nobody else works in a directory.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Closing it gives the lock up.
    _file: File,
}

/// Refuses what is no plain file of ours.
pub(crate) fn check_file(stat: &Stat, path: &Path) -> Result<(), HostError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => check_owner(stat, path),
        FileType::Symlink => Err(refused(path, "it is a symbolic link")),
        FileType::Directory => Err(refused(path, "it is a directory")),
        _ => Err(refused(path, "it is no plain file")),
    }
}

fn check_owner(stat: &Stat, path: &Path) -> Result<(), HostError> {
    let (owner, me) = (stat.st_uid, rustix::process::geteuid().as_raw());
    if owner != me {
        return Err(refused(path, format!("it belongs to another user ({owner})")));
    }
    Ok(())
}

/// Whether what a name stands for is a directory.
pub(crate) fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// At most `max` of the names in an open directory, in no order.
pub(crate) fn names_in(dir: &File, max: usize) -> io::Result<Vec<OsString>> {
    let entries = sys::Dir::read_from(dir)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
    let is_name = |name: &io::Result<Vec<u8>>| {
        !name.as_ref().is_ok_and(|name| matches!(&name[..], b"." | b".."))
    };
    names.filter(is_name).take(max).map(|name| name.map(OsString::from_vec)).collect()
}

/// The text of a name, for messages.
pub(crate) fn shown(name: &OsStr) -> String {
    String::from_utf8_lossy(name.as_bytes()).into_owned()
}

pub(crate) fn refused(path: &Path, reason: impl Into<String>) -> HostError {
    HostError::Unsafe { path: path.to_owned(), reason: reason.into() }
}

pub(crate) fn failed(operation: &'static str, path: &Path, source: io::Error) -> HostError {
    HostError::File { operation, path: path.to_owned(), source }
}

pub(crate) fn missing(path: &Path) -> HostError {
    failed("open", path, io::ErrorKind::NotFound.into())
}
