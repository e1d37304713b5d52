//! Btrfs: a snapshot is a read-only snapshot of a subvolume, in `.ah-snapshots` inside of it.
//!
//! A file beside each says what it is; it is made first and for one writer only, which is how numbers
//! are given. One whose subvolume never came is passed over.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::{FileSnapshot, SnapshotProvider};

use crate::SnapshotError;
use crate::command;
use crate::directory::{self, SNAPSHOTS, refuse_existing};
use crate::error::file;
use crate::name::escaped;
use crate::provider::{Branch, Created, Detection, FileChange, NewBranch, NewSnapshot, Provider};

/// The number of the root of every subvolume.
const SUBVOLUME_INODE: u64 = 256;

#[derive(Debug)]
pub(crate) struct Btrfs {
    program: Option<PathBuf>,
}

impl Btrfs {
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program }
    }

    fn subvolume(&self, verb: &[&str], paths: &[&Path]) -> Result<(), SnapshotError> {
        let program = self.program.as_deref().unwrap_or(Path::new("btrfs"));
        let mut call = Command::new(program);
        call.arg("subvolume").args(verb).arg("--").args(paths);
        command::run(&mut call, &format!("subvolume {}", verb.join(" ")), None).map(drop)
    }

    fn found(&self, directory: &Path) -> Result<String, String> {
        let program = self.program.as_ref().ok_or("there is no program `btrfs`")?;
        if !is_btrfs(directory) {
            return Err(format!("{} is not on a file system of Btrfs", directory.display()));
        }
        let data = fs::symlink_metadata(directory).map_err(|error| error.to_string())?;
        if data.ino() != SUBVOLUME_INODE {
            let hint = format!("`{} subvolume create` makes one", program.display());
            return Err(format!("{} is no subvolume of its own; {hint}", directory.display()));
        }
        let user = rustix::process::geteuid();
        if !user.is_root() && user.as_raw() != data.uid() {
            return Err(format!("{} belongs to another user", directory.display()));
        }
        Ok(format!("{} is a subvolume", directory.display()))
    }
}

#[cfg(target_os = "linux")]
fn is_btrfs(directory: &Path) -> bool {
    const BTRFS_MAGIC: u64 = 0x9123_683e;
    // Its type is wider on some machines than on others.
    rustix::fs::statfs(directory)
        .is_ok_and(|found| (found.f_type as u64) & 0xffff_ffff == BTRFS_MAGIC)
}

#[cfg(not(target_os = "linux"))]
fn is_btrfs(_directory: &Path) -> bool {
    false
}

/// The file that says what the snapshot at `path` is.
fn note(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// Takes the number of `snapshot`; false if another has it.
fn reserve(path: &Path, snapshot: &FileSnapshot) -> Result<bool, SnapshotError> {
    let note = note(path);
    let text = serde_json::to_string(snapshot)
        .map_err(|error| SnapshotError::NotKept { reason: error.to_string() })?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&note) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(file("make", &note)(error)),
        Ok(mut written) => {
            let done = written.write_all(text.as_bytes()).and_then(|()| written.sync_all());
            done.map_err(file("write", &note)).map(|()| true)
        }
    }
}

/// Where snapshots are; Git does not see it.
fn place(directory: &Path) -> Result<PathBuf, SnapshotError> {
    let place = directory.join(SNAPSHOTS);
    fs::create_dir_all(&place).map_err(file("make", &place))?;
    let ignored = place.join(".gitignore");
    if !ignored.exists() {
        fs::write(&ignored, "*\n").map_err(file("write", &ignored))?;
    }
    Ok(place)
}

impl Provider for Btrfs {
    fn name(&self) -> SnapshotProvider {
        SnapshotProvider::Btrfs
    }

    fn detect(&self, directory: &Path) -> Detection {
        Detection::of(self.name(), self.found(directory))
    }

    fn create(&self, directory: &Path, new: &NewSnapshot) -> Result<Created, SnapshotError> {
        let place = place(directory)?.join(escaped(&new.session, '%'));
        fs::create_dir_all(&place).map_err(file("make", &place))?;
        let is_of_session = |one: &FileSnapshot| one.session_id == new.session;
        let last = self.list(directory)?.into_iter().rfind(is_of_session);
        let mut number = last.as_ref().map_or(1, |last| last.number + 1);
        loop {
            let path = place.join(number.to_string());
            let snapshot = FileSnapshot {
                id: new.nonce.clone(),
                session_id: new.session.clone(),
                number,
                provider: SnapshotProvider::Btrfs,
                reference: path.to_string_lossy().into_owned(),
                directory: directory.to_string_lossy().into_owned(),
                created_at: new.at,
                parent: last.as_ref().map(|last| last.id.clone()),
                base: None,
                message: new.message.clone(),
                labels: new.labels.clone(),
            };
            if reserve(&path, &snapshot)? {
                self.subvolume(&["snapshot", "-r"], &[directory, &path])?;
                return Ok(Created { snapshot, not_kept: Vec::new() });
            }
            number += 1;
        }
    }

    fn list(&self, directory: &Path) -> Result<Vec<FileSnapshot>, SnapshotError> {
        let top = directory.join(SNAPSHOTS);
        let mut snapshots = Vec::new();
        let sessions = fs::read_dir(&top).into_iter().flatten().flatten();
        for entry in sessions.flat_map(|session| fs::read_dir(session.path())).flatten().flatten() {
            let path = entry.path();
            let Some(text) = fs::read_to_string(note(&path)).ok().filter(|_| path.is_dir()) else {
                continue;
            };
            if let Ok(snapshot) = serde_json::from_str::<FileSnapshot>(&text) {
                let reference = path.to_string_lossy().into_owned();
                snapshots.push(FileSnapshot { reference, ..snapshot });
            }
        }
        snapshots.sort_by(|a, b| (&a.session_id, a.number).cmp(&(&b.session_id, b.number)));
        Ok(snapshots)
    }

    fn diff(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: Option<&FileSnapshot>,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        let from = present(from)?;
        match to {
            Some(to) => directory::diff(&from, &present(to)?),
            None => directory::diff(&from, directory),
        }
    }

    fn restore(
        &self,
        _directory: &Path,
        from: &FileSnapshot,
        to: &Path,
    ) -> Result<(), SnapshotError> {
        directory::copy(&present(from)?, to)
    }

    fn branch(
        &self,
        _directory: &Path,
        from: &FileSnapshot,
        new: &NewBranch,
    ) -> Result<Branch, SnapshotError> {
        refuse_existing(&new.directory)?;
        self.subvolume(&["snapshot"], &[&present(from)?, &new.directory])?;
        let name = new.directory.to_string_lossy().into_owned();
        let inner = new.directory.join(SNAPSHOTS);
        // Only names of the snapshots are in it; a branch begins without any.
        let _ = fs::remove_dir_all(inner);
        Ok(Branch { name, directory: new.directory.clone() })
    }

    fn unbranch(&self, _directory: &Path, branch: &Branch) -> Result<(), SnapshotError> {
        self.subvolume(&["delete"], &[&branch.directory])
    }

    fn delete(&self, _directory: &Path, snapshot: &FileSnapshot) -> Result<(), SnapshotError> {
        let path = present(snapshot)?;
        self.subvolume(&["delete"], &[&path])?;
        let note = note(&path);
        fs::remove_file(&note).map_err(file("remove", &note))
    }
}

fn present(snapshot: &FileSnapshot) -> Result<PathBuf, SnapshotError> {
    let path = PathBuf::from(&snapshot.reference);
    match path.is_dir() {
        true => Ok(path),
        false => Err(SnapshotError::Gone {
            id: snapshot.id.clone(),
            reference: snapshot.reference.clone(),
        }),
    }
}
