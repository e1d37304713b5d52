//! Removal of directories whose contents are an agent's: links are removed, never followed; what was
//! made unreadable is made readable; other file systems are left alone; any depth takes the same
//! memory, because directories are moved up before they are emptied.

use std::ffi::OsStr;
use std::fs::File;

use ah_model::Amount;
use rustix::fs::{self as sys, AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::HostError;
use crate::place::{Dir, failed, is_directory, refused};

/// Names that are read from a directory at once.
const NAMES_AT_ONCE: usize = 256;
const OPEN: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// What a bounded removal did.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wiped {
    /// Files, links and other things that are no directories, and what the files held.
    pub(crate) amount: Amount,
    /// Whether anything is left.
    pub(crate) more: bool,
}

/// Removes `name` with all it holds, if it is there.
pub(crate) fn remove_whole(place: &Dir, name: &str) -> Result<(), HostError> {
    match place.stat(OsStr::new(name))? {
        None => return Ok(()),
        Some(stat) if !is_directory(&stat) => return place.remove_file(name),
        Some(_) => {}
    }
    let dir = place.need(name)?;
    while remove_some(&dir, usize::MAX)?.more {}
    remove_directory(place, OsStr::new(name))
}

/// Removes some of what `top` holds, in at most `budget` steps.
pub(crate) fn remove_some(top: &Dir, budget: usize) -> Result<Wiped, HostError> {
    let device =
        sys::fstat(top.file()).map_err(|error| failed("look at", top.path(), error.into()))?;
    let mut work = Work { top, device: device.st_dev, budget, moved: 0, amount: Amount::default() };
    while work.budget > 0 {
        let names = top.names(NAMES_AT_ONCE)?;
        if names.is_empty() {
            return Ok(Wiped { amount: work.amount, more: false });
        }
        for name in names {
            if work.budget == 0 {
                break;
            }
            work.remove(&name)?;
        }
    }
    let more = !top.names(1)?.is_empty();
    Ok(Wiped { amount: work.amount, more })
}

struct Work<'a> {
    top: &'a Dir,
    device: u64,
    budget: usize,
    /// Gives directories that are moved up a name.
    moved: u64,
    amount: Amount,
}

impl Work<'_> {
    /// Removes one entry of the top; of a large directory only a part.
    fn remove(&mut self, name: &OsStr) -> Result<(), HostError> {
        let Some(stat) = self.top.stat(name)? else {
            return Ok(());
        };
        if !is_directory(&stat) {
            return self.unlink(self.top.file(), name, &stat);
        }
        let dir = self.open(name, &stat)?;
        while self.budget > 0 {
            let names = names_in(&dir, self.top, name)?;
            if names.is_empty() {
                self.spend();
                return remove_directory(self.top, name);
            }
            for inner in names {
                if self.budget == 0 {
                    break;
                }
                self.remove_inner(&dir, &inner)?;
            }
        }
        Ok(())
    }

    fn remove_inner(&mut self, dir: &File, name: &OsStr) -> Result<(), HostError> {
        let path = self.top.path().join(name);
        let stat = sys::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|error| failed("look at", &path, error.into()))?;
        if !is_directory(&stat) {
            return self.unlink(dir, name, &stat);
        }
        self.check_device(&stat, name)?;
        if stat.st_mode & 0o700 != 0o700 {
            make_ours(dir, name).map_err(|source| failed("open", &path, source))?;
        }
        loop {
            self.moved += 1;
            let to = format!("moved-{}", self.moved);
            if self.top.stat(OsStr::new(&to))?.is_some() {
                continue;
            }
            self.spend();
            let moved = sys::renameat(dir, name, self.top.file(), &*to);
            return moved.map_err(|error| failed("move", &path, error.into()));
        }
    }

    /// Opens a directory of the top, whatever its mode.
    fn open(&self, name: &OsStr, stat: &Stat) -> Result<File, HostError> {
        self.check_device(stat, name)?;
        let path = self.top.path().join(name);
        if stat.st_mode & 0o700 != 0o700 {
            make_ours(self.top.file(), name).map_err(|source| failed("open", &path, source))?;
        }
        let opened = sys::openat(self.top.file(), name, OPEN, Mode::empty());
        opened.map(File::from).map_err(|error| failed("open", &path, error.into()))
    }

    fn unlink(&mut self, dir: &File, name: &OsStr, stat: &Stat) -> Result<(), HostError> {
        match sys::unlinkat(dir, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => {
                return Err(failed("remove", &self.top.path().join(name), error.into()));
            }
        }
        self.spend();
        let is_file = sys::FileType::from_raw_mode(stat.st_mode) == sys::FileType::RegularFile;
        let bytes = if is_file { u64::try_from(stat.st_size).unwrap_or(0) } else { 0 };
        self.amount += Amount { rows: 1, bytes };
        Ok(())
    }

    /// What is mounted in a home is somebody's, and not the agent's.
    fn check_device(&self, stat: &Stat, name: &OsStr) -> Result<(), HostError> {
        if stat.st_dev != self.device {
            let path = self.top.path().join(name);
            return Err(refused(&path, "another file system is mounted there; unmount it"));
        }
        Ok(())
    }

    fn spend(&mut self) {
        self.budget = self.budget.saturating_sub(1);
    }
}

fn names_in(dir: &File, top: &Dir, name: &OsStr) -> Result<Vec<std::ffi::OsString>, HostError> {
    crate::place::names_in(dir, NAMES_AT_ONCE)
        .map_err(|source| failed("list", &top.path().join(name), source))
}

fn remove_directory(place: &Dir, name: &OsStr) -> Result<(), HostError> {
    match sys::unlinkat(place.file(), name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failed("remove", &place.path().join(name), error.into())),
    }
}

/// Lets us into a directory, and not into what a link that took its place points to.
#[cfg(target_os = "linux")]
pub(crate) fn make_ours(dir: &File, name: &OsStr) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = sys::openat(dir, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", held.as_raw_fd());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn make_ours(dir: &File, name: &OsStr) -> std::io::Result<()> {
    Ok(sys::chmodat(dir, name, Mode::from_raw_mode(0o700), AtFlags::SYMLINK_NOFOLLOW)?)
}
