//! The name of a directory's contents: the same files on two machines have the same name.
//!
//! Counted are the paths below the directory, what each is (file, directory, link, something else),
//! whether a file may be executed, what is in it and where a link points to. Not counted are times,
//! owners, the other bits of the mode and the order in which a system lists. Links are never followed.
//! What the walk holds is one directory's names for each level; files are read piece by piece.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ah_model::{Snapshot, to_hex};
use rustix::fs::OFlags;
use rustix::io::Errno;
use sha2::{Digest, Sha256};

/// What made such a name.
pub const PROVIDER: &str = "digest";
/// Names that are never counted: what versions are kept in differs from machine to machine.
pub const IGNORED: [&str; 3] = [".git", ".hg", ".jj"];
/// Begins every hash, so that another way to count gives other names.
const MAGIC: &[u8] = b"ah-tree/1\n";
/// Most names in one directory.
const NAMES_MAX: usize = 1_000_000;
/// How often a directory that changes meanwhile is walked, and the first pause before the next walk.
const WALKS_MAX: u32 = 6;
const PAUSE: Duration = Duration::from_millis(20);
const PIECE_BYTES: usize = 64 * 1024;

/// Why a directory has no name.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// There is no such directory.
    #[error("{} is no directory on this machine", .0.display())]
    Missing(PathBuf),
    /// Something in it cannot be read.
    #[error("cannot {operation} {}: {source}", path.display())]
    Unreadable {
        /// What was tried.
        operation: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It has too many names.
    #[error("{} holds more than {NAMES_MAX} names", .0.display())]
    Crowded(PathBuf),
    /// It changes faster than it can be read.
    #[error("{} changes while it is read", .0.display())]
    Unsettled(PathBuf),
    /// Whoever wanted it wants it no more.
    #[error("it was given up")]
    Stopped,
}

/// Names what is in `directory`, without what is called as one of `ignore`, as long as `goes_on`.
pub fn of(
    directory: &Path,
    ignore: &[String],
    goes_on: &dyn Fn() -> bool,
) -> Result<Snapshot, DigestError> {
    let ignore = ignore.iter().map(String::as_str).chain(IGNORED).map(OsStr::new).collect();
    let mut changed = directory.to_owned();
    for walk in 0..WALKS_MAX {
        if walk > 0 {
            std::thread::sleep(PAUSE * walk);
        }
        match (Walk { directory, ignore: &ignore, goes_on, count: Count::new() }).named() {
            Ok(snapshot) => return Ok(snapshot),
            Err(Trouble::Changed(path)) => changed = path,
            Err(Trouble::Failed(error)) => return Err(error),
        }
    }
    Err(DigestError::Unsettled(changed))
}

/// Why a walk came to no end.
enum Trouble {
    /// What is at the path is not what it was a moment ago.
    Changed(PathBuf),
    Failed(DigestError),
}

/// What was found so far.
struct Count {
    hash: Sha256,
    files: u64,
    bytes: u64,
}

impl Count {
    fn new() -> Self {
        Self { hash: Sha256::new_with_prefix(MAGIC), files: 0, bytes: 0 }
    }

    /// Every text has its length before it, so that two lists of texts are never the same bytes.
    fn text(&mut self, text: &[u8]) {
        self.hash.update((text.len() as u64).to_be_bytes());
        self.hash.update(text);
    }

    fn entry(&mut self, kind: u8, relative: &Path) {
        self.hash.update([kind]);
        self.text(relative.as_os_str().as_bytes());
    }
}

struct Walk<'a> {
    directory: &'a Path,
    ignore: &'a BTreeSet<&'a OsStr>,
    goes_on: &'a dyn Fn() -> bool,
    count: Count,
}

impl Walk<'_> {
    fn named(mut self) -> Result<Snapshot, Trouble> {
        let found = std::fs::metadata(self.directory);
        if !found.is_ok_and(|found| found.is_dir()) {
            return Err(Trouble::Failed(DigestError::Missing(self.directory.to_owned())));
        }
        let mut at = PathBuf::new();
        let mut open = vec![self.names(self.directory)?.into_iter()];
        while let Some(names) = open.last_mut() {
            let Some(name) = names.next() else {
                open.pop();
                at.pop();
                continue;
            };
            at.push(name);
            match self.entry(&at)? {
                Found::Directory => {
                    let names = self.names(&self.directory.join(&at))?;
                    open.push(names.into_iter());
                }
                Found::Else => drop(at.pop()),
            }
        }
        let Count { hash, files, bytes } = self.count;
        let name = to_hex(&hash.finalize());
        Ok(Snapshot { provider: PROVIDER.to_owned(), name, files, bytes })
    }

    /// The names in a directory, in their order as bytes.
    fn names(&self, path: &Path) -> Result<Vec<OsString>, Trouble> {
        let before = std::fs::metadata(path).map_err(failed("look at", path))?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed("list", path))? {
            let name = entry.map_err(failed("list", path))?.file_name();
            if self.ignore.contains(name.as_os_str()) {
                continue;
            }
            if names.len() >= NAMES_MAX {
                return Err(Trouble::Failed(DigestError::Crowded(path.to_owned())));
            }
            names.push(name);
        }
        let after = std::fs::metadata(path).map_err(failed("look at", path))?;
        check_same(&before, &after, path)?;
        names.sort_unstable_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
        Ok(names)
    }

    fn entry(&mut self, relative: &Path) -> Result<Found, Trouble> {
        self.check_wanted()?;
        let path = self.directory.join(relative);
        let found = std::fs::symlink_metadata(&path).map_err(failed("look at", &path))?;
        let kind = found.file_type();
        if kind.is_dir() {
            self.count.entry(b'd', relative);
            return Ok(Found::Directory);
        }
        if kind.is_file() {
            let executable = found.mode() & 0o111 != 0;
            self.count.entry(if executable { b'x' } else { b'f' }, relative);
            let (contents, bytes) = self.contents(&path, &found)?;
            self.count.text(&contents);
            self.count.files += 1;
            self.count.bytes += bytes;
            return Ok(Found::Else);
        }
        if kind.is_symlink() {
            let target = std::fs::read_link(&path).map_err(failed("read", &path))?;
            self.count.entry(b'l', relative);
            self.count.text(target.as_os_str().as_bytes());
            return Ok(Found::Else);
        }
        self.count.entry(special(kind), relative);
        Ok(Found::Else)
    }

    /// The hash of a file and its length, if it stayed the same while it was read.
    fn contents(&self, path: &Path, found: &Metadata) -> Result<(Vec<u8>, u64), Trouble> {
        let mut file = open(path).map_err(failed("open", path))?;
        let before = file.metadata().map_err(failed("look at", path))?;
        check_same(found, &before, path)?;
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            self.check_wanted()?;
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    hash.update(piece.get(..read).unwrap_or_default());
                    bytes += read as u64;
                    // One that grows as fast as it is read would have no end.
                    if bytes > before.size() {
                        return Err(Trouble::Changed(path.to_owned()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed("read", path)(error)),
            }
        }
        let after = file.metadata().map_err(failed("look at", path))?;
        check_same(&before, &after, path)?;
        Ok((hash.finalize().to_vec(), bytes))
    }

    fn check_wanted(&self) -> Result<(), Trouble> {
        match (self.goes_on)() {
            true => Ok(()),
            false => Err(Trouble::Failed(DigestError::Stopped)),
        }
    }
}

enum Found {
    Directory,
    Else,
}

/// Neither follows a link nor waits for a pipe that took the file's place meanwhile.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn special(kind: FileType) -> u8 {
    if kind.is_fifo() {
        b'p'
    } else if kind.is_socket() {
        b's'
    } else if kind.is_block_device() {
        b'b'
    } else if kind.is_char_device() {
        b'c'
    } else {
        b'?'
    }
}

fn check_same(before: &Metadata, after: &Metadata, path: &Path) -> Result<(), Trouble> {
    let mark = |one: &Metadata| {
        let times = (one.mtime(), one.mtime_nsec(), one.ctime(), one.ctime_nsec());
        (one.dev(), one.ino(), one.mode(), one.size(), times)
    };
    match mark(before) == mark(after) {
        true => Ok(()),
        false => Err(Trouble::Changed(path.to_owned())),
    }
}

/// What is gone, or has become something else, was changed; all else cannot be read.
fn failed(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Trouble {
    move |source| {
        let path = path.to_owned();
        let is_changed = source.kind() == io::ErrorKind::NotFound
            || [Errno::LOOP, Errno::NOTDIR, Errno::INVAL, Errno::NXIO]
                .iter()
                .any(|errno| source.raw_os_error() == Some(errno.raw_os_error()));
        match is_changed {
            true => Trouble::Changed(path),
            false => Trouble::Failed(DigestError::Unreadable { operation, path, source }),
        }
    }
}
