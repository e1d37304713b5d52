//! ZFS: a snapshot is one of the dataset that is mounted at the directory, `DATASET@ah_<session>_<number>`.
//!
//! A property of the snapshot says what it is. Its files are read below `.zfs/snapshot`.

use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::{FileSnapshot, SnapshotProvider};

use crate::SnapshotError;
use crate::command::{self, Output};
use crate::directory::{self, refuse_existing};
use crate::name::escaped;
use crate::provider::{Branch, Created, Detection, FileChange, NewBranch, NewSnapshot, Provider};

/// What says what a snapshot is.
const PROPERTY: &str = "agent-harbor:snapshot";
/// How often the next number is tried while others take it.
const ATTEMPTS_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct Zfs {
    program: Option<PathBuf>,
}

impl Zfs {
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program }
    }

    fn try_call(&self, args: &[&str]) -> Result<Output, SnapshotError> {
        let program = self.program.as_deref().unwrap_or(Path::new("zfs"));
        command::try_run(Command::new(program).args(args), args[0], None)
    }

    fn call(&self, args: &[&str]) -> Result<Output, SnapshotError> {
        let output = self.try_call(args)?;
        match output.status.success() {
            true => Ok(output),
            false => Err(command::failed(Path::new("zfs"), args[0], output.reason())),
        }
    }

    /// The dataset that is mounted at `directory`.
    fn dataset(&self, directory: &Path) -> Result<String, String> {
        self.program.as_ref().ok_or("there is no program `zfs`")?;
        let path = directory.to_str().ok_or("the path is no text")?;
        let args = ["list", "-H", "-t", "filesystem", "-o", "name,mountpoint", path];
        let output = self.try_call(&args).map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(output.reason());
        }
        let line = output.line();
        match line.split_once('\t') {
            Some((name, mountpoint)) if Path::new(mountpoint) == directory => Ok(name.to_owned()),
            Some((name, _)) => Err(format!(
                "{path} is a directory of the dataset {name}, not a dataset of its own"
            )),
            None => Err(format!("zfs said {line:?}")),
        }
    }

    fn known_dataset(&self, directory: &Path) -> Result<String, SnapshotError> {
        self.dataset(directory).map_err(|reason| SnapshotError::Unusable {
            provider: SnapshotProvider::Zfs,
            directory: directory.to_owned(),
            reason,
        })
    }
}

/// Where the files of a snapshot are read.
fn files(directory: &Path, snapshot: &FileSnapshot) -> Result<PathBuf, SnapshotError> {
    let name = snapshot.reference.rsplit('@').next().unwrap_or_default();
    let path = directory.join(".zfs/snapshot").join(name);
    match path.is_dir() {
        true => Ok(path),
        false => Err(SnapshotError::Gone {
            id: snapshot.id.clone(),
            reference: snapshot.reference.clone(),
        }),
    }
}

impl Provider for Zfs {
    fn name(&self) -> SnapshotProvider {
        SnapshotProvider::Zfs
    }

    fn detect(&self, directory: &Path) -> Detection {
        let found = self.dataset(directory);
        Detection::of(self.name(), found.map(|name| format!("the dataset {name}")))
    }

    fn create(&self, directory: &Path, new: &NewSnapshot) -> Result<Created, SnapshotError> {
        let dataset = self.known_dataset(directory)?;
        for _ in 0..ATTEMPTS_MAX {
            let is_of_session = |one: &FileSnapshot| one.session_id == new.session;
            let last = self.list(directory)?.into_iter().rfind(is_of_session);
            let number = last.as_ref().map_or(1, |last| last.number + 1);
            let reference = format!("{dataset}@ah_{}_{number}", escaped(&new.session, ':'));
            let snapshot = FileSnapshot {
                id: new.nonce.clone(),
                session_id: new.session.clone(),
                number,
                provider: SnapshotProvider::Zfs,
                reference: reference.clone(),
                directory: directory.to_string_lossy().into_owned(),
                created_at: new.at,
                parent: last.map(|last| last.id),
                base: None,
                message: new.message.clone(),
                labels: new.labels.clone(),
            };
            let said = serde_json::to_string(&snapshot)
                .map_err(|error| SnapshotError::NotKept { reason: error.to_string() })?;
            let property = format!("{PROPERTY}={said}");
            let made = self.try_call(&["snapshot", "-o", &property, &reference])?;
            if made.status.success() {
                return Ok(Created { snapshot, not_kept: Vec::new() });
            }
            if !made.reason().contains("already exists") {
                return Err(command::failed(Path::new("zfs"), "snapshot", made.reason()));
            }
        }
        let reason = format!("{ATTEMPTS_MAX} others took the next number of {}", new.session);
        Err(command::failed(Path::new("zfs"), "snapshot", reason))
    }

    fn list(&self, directory: &Path) -> Result<Vec<FileSnapshot>, SnapshotError> {
        let dataset = self.known_dataset(directory)?;
        let columns = format!("name,{PROPERTY}");
        let args = ["list", "-H", "-t", "snapshot", "-d", "1", "-o", &columns, &dataset];
        let output = self.call(&args)?;
        let mut snapshots: Vec<FileSnapshot> = String::from_utf8_lossy(&output.text)
            .lines()
            .filter_map(|line| {
                let (name, said) = line.split_once('\t')?;
                let snapshot: FileSnapshot = serde_json::from_str(said).ok()?;
                // A clone inherits none; a renamed one is where it is now.
                Some(FileSnapshot { reference: name.to_owned(), ..snapshot })
            })
            .collect();
        snapshots.sort_by(|a, b| (&a.session_id, a.number).cmp(&(&b.session_id, b.number)));
        Ok(snapshots)
    }

    fn diff(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: Option<&FileSnapshot>,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        let from = files(directory, from)?;
        match to {
            Some(to) => directory::diff(&from, &files(directory, to)?),
            None => directory::diff(&from, directory),
        }
    }

    fn restore(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: &Path,
    ) -> Result<(), SnapshotError> {
        directory::copy(&files(directory, from)?, to)
    }

    fn branch(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        new: &NewBranch,
    ) -> Result<Branch, SnapshotError> {
        refuse_existing(&new.directory)?;
        let dataset = self.known_dataset(directory)?;
        let word = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name = format!("{dataset}-{}", new.name.chars().map(word).collect::<String>());
        let mountpoint = format!("mountpoint={}", new.directory.display());
        self.call(&["clone", "-o", &mountpoint, &from.reference, &name])?;
        Ok(Branch { name, directory: new.directory.clone() })
    }

    fn unbranch(&self, _directory: &Path, branch: &Branch) -> Result<(), SnapshotError> {
        self.call(&["destroy", &branch.name]).map(drop)
    }

    fn delete(&self, _directory: &Path, snapshot: &FileSnapshot) -> Result<(), SnapshotError> {
        self.call(&["destroy", &snapshot.reference]).map(drop)
    }
}
