//! Calls that could not be written: a file each, until a later call brings them in.
//!
//! A file is there whole or not at all, readable by its owner alone, and named so that the oldest
//! comes first. One drain at a time has the lock of the directory, which dies with its process. A
//! file goes after its call is in the store: who is killed between brings it in again, which adds
//! nothing. What can never be brought in is put aside.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ah_import::{HookCall, HookFate};
use ah_model::{Redactions, Timestamp};

use crate::environment::Environment;

/// Where the files are, below the state directory.
const DIRECTORY: &str = "hooks";
/// What was put aside, below that.
const ASIDE: &str = "refused";
/// How many secrets were taken out of calls, below that: a file for each rule, a byte for each secret.
/// Many may add to it at once, and nothing has to be read for it.
const REDACTED: &str = "redacted";
/// How the name of a call's file ends.
const ENDING: &str = "json";
const LOCK: &str = "lock";

/// Calls, and bytes of them, that are brought in at once.
const DRAIN_CALLS: usize = 512;
const DRAIN_BYTES: u64 = 32 * 1024 * 1024;
/// What is put aside is for a person to look at, not a second store.
const ASIDE_MAX: usize = 1_000;

/// Where calls are kept: beside the database, and elsewhere when that cannot be written.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    places: Vec<PathBuf>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// Nothing is left.
    Empty,
    /// Somebody else does it at this moment.
    ByAnother,
    /// Some could not be brought in yet.
    Left,
}

impl Spool {
    pub(crate) fn of(environment: &Environment) -> Self {
        let state = environment.state_dir().ok();
        let elsewhere = environment.temporary_dir().join(elsewhere(state.as_deref()));
        let own = state.map(|dir| dir.join(DIRECTORY));
        Self { places: own.into_iter().chain([elsewhere]).collect() }
    }

    /// Where they are, the first that can be written to being the one that is used.
    pub(crate) fn places(&self) -> &[PathBuf] {
        &self.places
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.iter().all(|place| waiting(place).is_empty())
    }

    /// The calls that wait, and what was put aside.
    pub(crate) fn count(&self) -> (usize, usize) {
        let aside = |place: &PathBuf| fs::read_dir(place.join(ASIDE)).map_or(0, Iterator::count);
        let waiting = self.places.iter().map(|place| waiting(place).len()).sum();
        (waiting, self.places.iter().map(aside).sum())
    }

    /// Keeps a call, in the first place that takes it.
    pub(crate) fn keep(&self, call: &HookCall) -> io::Result<Kept> {
        let text = serde_json::to_vec(call)?;
        self.write(None, &name(call.at, &call.id, ENDING), &text)
    }

    /// Puts aside what can never be brought in.
    pub(crate) fn put_aside(&self, at: Timestamp, id: &str, bytes: &[u8]) {
        if self.count().1 < ASIDE_MAX {
            // There is nobody to tell but the agent, whom it must not disturb.
            let _ = self.write(Some(ASIDE), &name(at, id, "txt"), bytes).and_then(Kept::sync);
        }
    }

    /// Counts secrets that were taken out of a call.
    pub(crate) fn count_redacted(&self, redacted: &Redactions) {
        for (rule, count) in &redacted.0 {
            let marks = vec![b'.'; usize::try_from(*count).unwrap_or_default()];
            let add = |place: &PathBuf| {
                let directory = place.join(REDACTED);
                own_dir(place)?;
                own_dir(&directory)?;
                let mut options = OpenOptions::new();
                private(options.create(true).append(true))
                    .open(directory.join(rule))?
                    .write_all(&marks)
            };
            // The first place that takes it. A call is worth more than a number: no trouble here
            // is one of the call's.
            let _ = self.places.iter().any(|place| add(place).is_ok());
        }
    }

    /// The secrets that were taken out of calls.
    pub(crate) fn redacted(&self) -> Redactions {
        let mut redacted = Redactions::default();
        for place in &self.places {
            let Ok(rules) = fs::read_dir(place.join(REDACTED)) else { continue };
            for rule in rules.flatten() {
                let count = rule.metadata().map_or(0, |found| found.len());
                redacted.add(&rule.file_name().to_string_lossy(), count);
            }
        }
        redacted
    }

    fn write(&self, below: Option<&str>, name: &str, bytes: &[u8]) -> io::Result<Kept> {
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for place in &self.places {
            let directory = below.map_or_else(|| place.clone(), |below| place.join(below));
            match write_whole(place, &directory, name, bytes) {
                Ok(kept) => return Ok(kept),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Brings in what waits, oldest first, as `record` does with some calls at a time.
    pub(crate) fn drain(&self, record: impl Fn(&[HookCall]) -> Vec<HookFate>) -> Drained {
        let mut drained = Drained::Empty;
        for place in &self.places {
            match self.drain_place(place, &record) {
                Drained::Empty => {}
                other => drained = other,
            }
        }
        drained
    }

    fn drain_place(&self, place: &Path, record: &impl Fn(&[HookCall]) -> Vec<HookFate>) -> Drained {
        if waiting(place).is_empty() {
            return Drained::Empty;
        }
        let Ok(_lock) = lock(place) else { return Drained::ByAnother };
        loop {
            // Looked for under the lock: another may have brought in what was seen before.
            let files = waiting(place);
            if files.is_empty() {
                return Drained::Empty;
            }
            let (files, calls) = self.load(place, files);
            let fates = record(&calls);
            let mut left = false;
            for ((file, call), fate) in files.iter().zip(&calls).zip(fates) {
                match fate {
                    HookFate::Waiting(_) => {
                        left = true;
                        continue;
                    }
                    HookFate::Refused(_) => {
                        self.put_aside(call.at, &call.id, call.payload.as_str().as_bytes());
                    }
                    HookFate::Recorded => {}
                }
                // One that stays is brought in again, which adds nothing.
                left |= fs::remove_file(file).is_err();
            }
            if left {
                return Drained::Left;
            }
        }
    }

    /// The oldest calls of `files`; what is none is put aside.
    fn load(&self, place: &Path, files: Vec<PathBuf>) -> (Vec<PathBuf>, Vec<HookCall>) {
        let (mut found, mut calls, mut bytes) = (Vec::new(), Vec::new(), 0);
        for file in files.into_iter().take(DRAIN_CALLS) {
            let Ok(text) = fs::read(&file) else { continue };
            match serde_json::from_slice(&text) {
                Ok(call) => {
                    bytes += text.len() as u64;
                    found.push(file);
                    calls.push(call);
                }
                Err(_) => set_aside(place, &file),
            }
            if bytes > DRAIN_BYTES {
                break;
            }
        }
        (found, calls)
    }
}

/// The name of a file: the oldest is the first by name.
fn name(at: Timestamp, id: &str, ending: &str) -> String {
    format!("{:015}-{id}.{ending}", at.unix_ms().max(0))
}

/// The files of calls in a place, oldest first.
fn waiting(place: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    if !is_own(place) {
        return Vec::new();
    }
    let files = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == ENDING)).collect();
    files.sort();
    files
}

/// Moves a file that is no call out of the way.
fn set_aside(place: &Path, file: &Path) {
    let aside = place.join(ASIDE);
    if let (Ok(()), Some(name)) = (own_dir(&aside), file.file_name()) {
        let _ = fs::rename(file, aside.join(name));
    }
}

fn lock(place: &Path) -> io::Result<File> {
    let file = private(OpenOptions::new().create(true).truncate(false)).open(place.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A file that survives the end of this process, and is not yet on disk.
pub(crate) struct Kept {
    file: File,
    directory: PathBuf,
}

impl Kept {
    /// Waits until it survives a power cut, too.
    pub(crate) fn sync(self) -> io::Result<()> {
        self.file.sync_data()?;
        if cfg!(unix) { File::open(self.directory)?.sync_all() } else { Ok(()) }
    }
}

/// Writes a file that appears whole.
fn write_whole(place: &Path, directory: &Path, name: &str, bytes: &[u8]) -> io::Result<Kept> {
    own_dir(place)?;
    own_dir(directory)?;
    let new = directory.join(format!(".{name}"));
    let mut file = private(OpenOptions::new().create_new(true)).open(&new)?;
    let written = file.write_all(bytes);
    let named = written.and_then(|()| fs::rename(&new, directory.join(name)));
    if let Err(error) = named {
        // What is there is not whole.
        let _ = fs::remove_file(&new);
        return Err(error);
    }
    Ok(Kept { file, directory: directory.to_owned() })
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options.write(true)
}

/// A directory of ours that nobody else can enter, made if it is not there.
#[cfg(unix)]
fn own_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    match is_own(path) {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Whether nobody else can have put anything there.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_own(_path: &Path) -> bool {
    true
}

#[cfg(not(unix))]
fn own_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

/// The name of the place beside the usual one: it is where those of other users and homes are too.
fn elsewhere(state: Option<&Path>) -> String {
    let bytes = state.map(|state| state.as_os_str().as_encoded_bytes()).unwrap_or_default();
    // FNV-1a: the same in every version of this program.
    let home = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    #[cfg(unix)]
    let user = rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let user = 0;
    format!("agent-harbor-hooks-{user}-{home:016x}")
}
