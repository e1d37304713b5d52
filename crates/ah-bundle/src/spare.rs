//! Pointers that are written over instead of made: the one that a save replaces is the spare of the
//! next save.
//!
//! A new file costs a file system a commit of its own; writing over an old one costs none. A head and
//! `latest.json` are one file with two names, or two where something was pruned; and so is the spare. A
//! save writes it, syncs it, and exchanges its names with theirs. Why that is safe is in design note
//! 0008.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{self as sys, AtFlags, Mode, OFlags, RenameFlags, Stat};

use crate::BundleError;
use crate::disk::{Dir, FILE, FILE_MODE, Lock, Temporary, check_file, looked_at, permissions};

const HEAD: &str = ".spare-ah-head";
const LATEST: &str = ".spare-ah-latest";
/// What a spare begins with once no power cut can make it a pointer again. No pointer begins so.
const OUT_OF_USE: &[u8] = b"-";

/// What the last save replaced.
struct Spare {
    /// Of the head and of `latest.json`.
    files: [File; 2],
    /// Whether both are the same.
    is_one: bool,
}

/// Whether a file of that name is a spare.
pub(crate) fn is_spare_name(name: &str) -> bool {
    name == HEAD || name == LATEST
}

impl Dir {
    /// Writes a head and a `latest.json` under names that no reader looks at; not synced. Over the
    /// spare if there is one, else as new files. Only with the lock.
    pub(crate) fn write_pointers(
        &self,
        lock: &Lock,
        head: &str,
        latest: &str,
    ) -> Result<[Temporary; 2], BundleError> {
        let is_one = head == latest;
        if let Some(spare) = self.spare(lock)?.filter(|spare| spare.is_one == is_one) {
            let [first, second] = spare.files;
            write_over(&first, head.as_bytes()).map_err(self.failed("write", HEAD))?;
            let second = (!is_one).then_some(second);
            if let Some(second) = &second {
                write_over(second, latest.as_bytes()).map_err(self.failed("write", LATEST))?;
            }
            return Ok([Temporary::named(HEAD, Some(first)), Temporary::named(LATEST, second)]);
        }
        self.remove(HEAD)?;
        self.remove(LATEST)?;
        let first = self.create(lock, HEAD, head.as_bytes())?;
        let linked = || sys::linkat(&self.file, HEAD, &self.file, LATEST, AtFlags::empty()).is_ok();
        let second = match is_one && linked() {
            true => Temporary::named(LATEST, None),
            false => self.create(lock, LATEST, latest.as_bytes())?,
        };
        Ok([first, second])
    }

    /// Gives a pointer its name. What had it has the name of the spare then, where the system and the
    /// file system can exchange two names; else it is replaced.
    pub(crate) fn publish_pointer(&self, file: &Temporary, name: &str) -> Result<(), BundleError> {
        let stat = sys::statat(&self.file, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_file = stat.is_ok_and(|stat| check_file(&stat).is_ok());
        let exchange = || {
            let flags = RenameFlags::EXCHANGE;
            sys::renameat_with(&self.file, &file.name, &self.file, name, flags).is_ok()
        };
        if is_file && exchange() { Ok(()) } else { self.publish(file, name) }
    }

    /// Says that the spare can be written over without a further sync. Only once the names are synced.
    pub(crate) fn release_spare(&self, lock: &Lock) {
        for file in self.pair(lock).into_iter().flat_map(|spare| spare.files) {
            // Where this fails, the next save syncs the names once more.
            let _ = file.write_all_at(OUT_OF_USE, 0);
        }
    }

    /// The spare, if it can be written over.
    fn spare(&self, lock: &Lock) -> Result<Option<Spare>, BundleError> {
        let Some(spare) = self.pair(lock) else { return Ok(None) };
        let is_out = |file: &File| {
            let mut first = [0; OUT_OF_USE.len()];
            file.read_exact_at(&mut first, 0).is_ok() && first == OUT_OF_USE
        };
        if !spare.files.iter().all(is_out) {
            // Its save did not end: on the disk it may be the head still.
            self.sync()?;
        }
        Ok(Some(spare))
    }

    /// What the names of the spare are of, if that has no other name and is as we make it.
    fn pair(&self, _: &Lock) -> Option<Spare> {
        let open = |name| {
            looked_at(sys::openat(&self.file, name, FILE | OFlags::RDWR, Mode::empty())).ok()
        };
        let ((head, first), (latest, second)) = (open(HEAD)?, open(LATEST)?);
        let is_one = (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino);
        let links = if is_one { 2 } else { 1 };
        let is_ours = |stat: &Stat| stat.st_nlink == links && permissions(stat) == FILE_MODE;
        let spare = Spare { files: [head, latest], is_one };
        (is_ours(&first) && is_ours(&second)).then_some(spare)
    }
}

fn write_over(spare: &File, bytes: &[u8]) -> io::Result<()> {
    spare.write_all_at(bytes, 0)?;
    let length = bytes.len() as u64;
    // Pointers are nearly always of one length, and to set it costs what making a file does.
    if spare.metadata()?.len() == length { Ok(()) } else { spare.set_len(length) }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;

    use ah_model::Timestamp;

    use super::*;
    use crate::{Bundle, StateDir};

    /// A directory that cannot be synced, for whoever would need it.
    fn without_sync(path: &std::path::Path) -> Dir {
        let mut dir = Dir::open(path).unwrap().unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        dir.file = sys::openat(sys::CWD, path, flags, Mode::empty()).unwrap().into();
        dir
    }

    #[test]
    fn a_spare_whose_save_did_not_end_is_written_over_only_after_a_sync() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path().join("state"));
        for _ in 0..3 {
            state.save(Bundle::new("m", "u", ""), Timestamp::EPOCH).unwrap();
        }
        let dir = without_sync(state.path());
        let lock = dir.lock().unwrap();
        let read = || fs::read_to_string(state.path().join(HEAD)).unwrap();
        assert!(read().starts_with('-'));
        dir.write_pointers(&lock, "{}", "{}").unwrap();
        assert_eq!(read(), "{}");
        // Nothing says now that the names are safe.
        let error = dir.write_pointers(&lock, "[]", "[]").unwrap_err().to_string();
        assert!(error.contains("sync"), "{error}");
        assert_eq!(read(), "{}");
        let synced = Dir::open(state.path()).unwrap().unwrap();
        synced.write_pointers(&lock, "[]", "[]").unwrap();
        assert_eq!(read(), "[]");
        synced.release_spare(&lock);
        assert_eq!(read(), "-]");
    }
}
