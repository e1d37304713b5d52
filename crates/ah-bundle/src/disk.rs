//! The state directory, held open while it is used, and the files in it.
//!
//! Every file is taken from the open directory by its name, never through a link, and looked at once
//! it is open, so that nothing can be exchanged between the look and the use. What is not as it must
//! be is refused, not repaired. With [`crate::spare`] the only room that writes; what a reader looks at
//! is never written in place.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::sha::sha256_of;
use crate::{BundleError, DryRun, Problem, UnsafeDirectory};

const DIRECTORY: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
/// A pipe in place of a file must not keep a reader waiting.
pub(crate) const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
pub(crate) const DIRECTORY_MODE: u32 = 0o700;
pub(crate) const FILE_MODE: u32 = 0o600;
const OTHERS: u32 = 0o077;
const LOCK: &str = ".lock";
/// How many files are on their way at once.
pub(crate) const TEMPORARIES: usize = 8;

/// An open directory and what it is called.
#[derive(Debug)]
pub(crate) struct Dir {
    pub(crate) file: File,
    path: PathBuf,
}

/// The right to change a directory; given back with its process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// A file that has no name of its own yet.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// What is to be synced; none where another name has the same file.
    file: Option<File>,
    pub(crate) name: String,
}

impl Temporary {
    pub(crate) fn named(name: &str, file: Option<File>) -> Self {
        Self { file, name: name.to_owned() }
    }
}

impl Dir {
    /// The directory, if it is there: private, ours and no link.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, BundleError> {
        let Some(dir) = Self::open_any_mode(path)? else { return Ok(None) };
        let mode = dir.mode()?;
        if mode & OTHERS != 0 {
            let reason = UnsafeDirectory::UnsafeMode { dir: dir.path.clone(), mode };
            return Err(BundleError::UnsafeDirectory { dir: dir.path, reason });
        }
        Ok(Some(dir))
    }

    /// As [`Self::open`], whoever else may use it.
    pub(crate) fn open_any_mode(path: &Path) -> Result<Option<Self>, BundleError> {
        // Without a slash at the end, which would follow a link.
        let path: PathBuf = path.components().collect();
        let refused = |reason| BundleError::UnsafeDirectory { dir: path.clone(), reason };
        let file = match sys::openat(sys::CWD, &path, DIRECTORY, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                // Only for the words: it is refused either way.
                return Err(refused(match path.read_link() {
                    Ok(target) => UnsafeDirectory::Symlink { target },
                    Err(_) => UnsafeDirectory::NotADirectory,
                }));
            }
            Err(error) => return Err(BundleError::file("open", path)(error.into())),
        };
        let dir = Self { file, path: path.clone() };
        match foreign_owner(&dir.stat()?) {
            Some(owner) => Err(refused(UnsafeDirectory::ForeignOwner { owner })),
            None => Ok(Some(dir)),
        }
    }

    /// The directory, made where there is none.
    pub(crate) fn make(path: &Path) -> Result<Self, BundleError> {
        if let Some(dir) = Self::open(path)? {
            return Ok(dir);
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, DIRECTORY_MODE);
        builder.create(path).map_err(BundleError::file("create", path))?;
        // Its name must last as well.
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let synced = File::open(parent).and_then(|parent| parent.sync_all());
        synced.map_err(BundleError::file("sync", parent))?;
        Self::open(path)?.ok_or_else(|| BundleError::NoState { dir: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its permission bits.
    pub(crate) fn mode(&self) -> Result<u32, BundleError> {
        Ok(permissions(&self.stat()?))
    }

    fn stat(&self) -> Result<Stat, BundleError> {
        sys::fstat(&self.file).map_err(|error| self.failed("look at", "")(error.into()))
    }

    /// Waits until no other process changes the directory; until the answer is dropped, none does.
    pub(crate) fn lock(&self) -> Result<Lock, BundleError> {
        let flags = FILE | OFlags::CREATE | OFlags::RDWR;
        let opened = sys::openat(&self.file, LOCK, flags, Mode::from_raw_mode(FILE_MODE));
        let file = File::from(opened.map_err(|error| self.failed("open", LOCK)(error.into()))?);
        file.lock().map_err(self.failed("lock", LOCK))?;
        Ok(Lock { _file: file })
    }

    /// The names of all that is there, sorted, but for what is not text.
    pub(crate) fn names(&self) -> Result<Vec<String>, BundleError> {
        let failed = |error: Errno| self.failed("list", "")(error.into());
        let mut names = Vec::new();
        for entry in sys::Dir::read_from(&self.file).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if let Ok(name) = entry.file_name().to_str() {
                names.push(name.to_owned());
            }
        }
        names.retain(|name| name != "." && name != "..");
        names.sort_unstable();
        Ok(names)
    }

    /// A file opened to be read, with its size; safe to be believed.
    pub(crate) fn open_file(&self, name: &str) -> Result<(File, u64), Problem> {
        let opened = sys::openat(&self.file, name, FILE | OFlags::RDONLY, Mode::empty());
        let (file, stat) = looked_at(opened)?;
        let mode = permissions(&stat);
        if mode & OTHERS != 0 {
            return Err(Problem::UnsafeMode { mode: format!("{mode:04o}") });
        }
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// All bytes of a file.
    pub(crate) fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, Problem> {
        let (file, size) = self.open_file(name)?;
        read_all(&file, size, bytes_max)
    }

    /// The hash of all bytes of a file.
    pub(crate) fn sha256(&self, name: &str, bytes_max: u64) -> Result<String, Problem> {
        let (file, size) = self.open_file(name)?;
        if size > bytes_max {
            return Err(Problem::TooLarge { bytes: size, max: bytes_max });
        }
        sha256_of(file).map_err(unreadable)
    }

    /// Whether something of that name is there.
    pub(crate) fn holds(&self, name: &str) -> bool {
        sys::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether an open file has that name, still or again.
    pub(crate) fn is_named(&self, file: &File, name: &str) -> bool {
        let named = sys::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW);
        let opened = sys::fstat(file);
        let same =
            |(one, other): (Stat, Stat)| (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino);
        named.ok().zip(opened.ok()).is_some_and(same)
    }

    /// Takes away what writers that died left. Only with the lock.
    pub(crate) fn remove_temporaries(&self, _: &Lock) -> Result<(), BundleError> {
        // To look first is cheaper: there are hardly ever any.
        let mut left = (0..TEMPORARIES).map(temporary_name).filter(|name| self.holds(name));
        left.try_for_each(|name| self.remove(&name))
    }

    /// Writes `bytes` under a name that no reader looks at; not synced. Only with the lock.
    pub(crate) fn write(
        &self,
        lock: &Lock,
        slot: usize,
        bytes: &[u8],
    ) -> Result<Temporary, BundleError> {
        self.create(lock, &temporary_name(slot), bytes)
    }

    /// As [`Self::write`], under that name, which nothing has. Only with the lock.
    pub(crate) fn create(
        &self,
        _: &Lock,
        name: &str,
        bytes: &[u8],
    ) -> Result<Temporary, BundleError> {
        let flags = FILE | OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let opened = sys::openat(&self.file, name, flags, Mode::from_raw_mode(FILE_MODE));
        let opened = opened.map_err(|error| self.failed("create", name)(error.into()))?;
        let mut file = File::from(opened);
        file.write_all(bytes).map_err(self.failed("write", name))?;
        Ok(Temporary::named(name, Some(file)))
    }

    /// Waits until what was written would survive a power cut. All at once, so that a journal may
    /// commit once for all of them: one after another took half as long again.
    pub(crate) fn sync_files(&self, files: &[Temporary]) -> Result<(), BundleError> {
        let mut files = files.iter().filter(|one| one.file.is_some());
        let Some(first) = files.next() else { return Ok(()) };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                files.map(|file| scope.spawn(move || self.sync_file(file))).collect();
            let first = self.sync_file(first);
            others.into_iter().map(joined).fold(first, Result::and)
        })
    }

    /// As [`Self::sync_files`]. Without times, which would cost a spare its commit.
    pub(crate) fn sync_file(&self, file: &Temporary) -> Result<(), BundleError> {
        let Temporary { file: Some(file), name } = file else { return Ok(()) };
        file.sync_data().map_err(self.failed("sync", name))
    }

    /// Gives a file its name, in place of what had it.
    pub(crate) fn publish(&self, file: &Temporary, name: &str) -> Result<(), BundleError> {
        self.rename(&file.name, name)
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), BundleError> {
        let renamed = sys::renameat(&self.file, from, &self.file, to);
        renamed.map_err(|error| self.failed("write", to)(error.into()))
    }

    /// Removes a file; one that is not there is removed already.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BundleError> {
        match sys::unlinkat(&self.file, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(self.failed("remove", name)(error.into())),
        }
    }

    /// Waits until the names would survive a power cut.
    pub(crate) fn sync(&self) -> Result<(), BundleError> {
        self.file.sync_all().map_err(self.failed("sync", ""))
    }

    /// Sets the mode of the directory.
    pub(crate) fn set_mode(&self, mode: u32) -> Result<(), BundleError> {
        let set = sys::fchmod(&self.file, Mode::from_raw_mode(mode));
        set.map_err(|error| self.failed("change the mode of", "")(error.into()))
    }

    /// Takes the access of others from a file of ours; its mode before, if that was needed. Only in a
    /// directory that nobody else can change.
    pub(crate) fn make_private(&self, name: &str, dry_run: DryRun) -> Result<Option<u32>, Problem> {
        let stat = sys::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW).map_err(unreadable)?;
        check_file(&stat)?;
        let mode = permissions(&stat);
        if mode == FILE_MODE {
            return Ok(None);
        }
        if dry_run == DryRun::No {
            // By its name: a file without any mode cannot be opened.
            let mode = Mode::from_raw_mode(FILE_MODE);
            sys::chmodat(&self.file, name, mode, AtFlags::empty()).map_err(unreadable)?;
        }
        Ok(Some(mode))
    }

    /// Writes a file whole, in place of what has its name. Only with the lock.
    pub(crate) fn replace(&self, lock: &Lock, name: &str, bytes: &[u8]) -> Result<(), BundleError> {
        self.remove_temporaries(lock)?;
        let file = self.write(lock, 0, bytes)?;
        self.sync_files(std::slice::from_ref(&file))?;
        self.publish(&file, name)
    }

    pub(crate) fn failed(
        &self,
        operation: &'static str,
        name: &str,
    ) -> impl FnOnce(io::Error) -> BundleError {
        BundleError::file(
            operation,
            if name.is_empty() { self.path.clone() } else { self.path.join(name) },
        )
    }
}

/// What a thread made; its panic is ours.
pub(crate) fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Reads an open file whose size is known.
pub(crate) fn read_all(file: &File, size: u64, bytes_max: u64) -> Result<Vec<u8>, Problem> {
    let too_large = |bytes| Problem::TooLarge { bytes, max: bytes_max };
    if size > bytes_max {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    while bytes.len() as u64 <= bytes_max {
        bytes.reserve(1);
        match rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => return Ok(bytes),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    // It grew while it was read.
    Err(too_large(bytes.len() as u64))
}

/// A regular file of ours, or why it is none.
pub(crate) fn looked_at(opened: rustix::io::Result<OwnedFd>) -> Result<(File, Stat), Problem> {
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(Errno::NOENT) => return Err(Problem::Missing),
        Err(Errno::LOOP) => return Err(Problem::Symlink),
        // A socket, or a device nobody is behind of.
        Err(Errno::NXIO) => return Err(Problem::NotAFile),
        Err(error) => return Err(unreadable(error)),
    };
    let stat = sys::fstat(&file).map_err(unreadable)?;
    check_file(&stat)?;
    Ok((file, stat))
}

pub(crate) fn check_file(stat: &Stat) -> Result<(), Problem> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Problem::Symlink),
        _ => return Err(Problem::NotAFile),
    }
    match foreign_owner(stat) {
        Some(owner) => Err(Problem::ForeignOwner { owner }),
        None => Ok(()),
    }
}

fn unreadable(error: impl Into<io::Error>) -> Problem {
    Problem::Unreadable { reason: error.into().to_string() }
}

fn foreign_owner(stat: &Stat) -> Option<u32> {
    (stat.st_uid != rustix::process::geteuid().as_raw()).then_some(stat.st_uid)
}

pub(crate) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

fn temporary_name(slot: usize) -> String {
    format!(".tmp-ah-{slot}")
}
