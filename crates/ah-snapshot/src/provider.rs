//! What every provider of snapshots does, and which one is taken for a directory.

use std::path::{Path, PathBuf};

use ah_model::{FileSnapshot, Labels, SessionId, SnapshotProvider, Timestamp};
use serde::Serialize;

use crate::SnapshotError;
use crate::agentfs::AgentFs;
use crate::btrfs::Btrfs;
use crate::git::Git;
use crate::zfs::Zfs;

/// A snapshot to take.
#[derive(Debug, Clone)]
pub struct NewSnapshot {
    /// Whose work it is.
    pub session: SessionId,
    /// The time now.
    pub at: Timestamp,
    /// Random hexadecimal digits: the id, where the provider has none of its own.
    pub nonce: String,
    /// What is to be said of it.
    pub message: Option<String>,
    /// Labels of its own.
    pub labels: Labels,
    /// What becomes of files that are ignored.
    pub ignored: Ignored,
}

/// Whether files that the repository ignores are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// They are not.
    LeftOut,
    /// They are, like all others.
    Included,
}

/// A snapshot that was taken.
#[derive(Debug)]
pub struct Created {
    /// It.
    pub snapshot: FileSnapshot,
    /// What of the directory it does not hold, a line each.
    pub not_kept: Vec<String>,
}

/// A writable copy to make of a snapshot.
#[derive(Debug, Clone)]
pub struct NewBranch {
    /// Its name: of a branch of Git, or of a dataset.
    pub name: String,
    /// Where its files go; nothing may be there.
    pub directory: PathBuf,
}

/// A writable copy of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Branch {
    /// Its name, as the provider calls it.
    pub name: String,
    /// Where its files are.
    pub directory: PathBuf,
}

/// Whether a provider can work on a directory, and why or why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detection {
    /// Who was asked.
    pub provider: SnapshotProvider,
    /// Whether it can.
    pub usable: bool,
    /// What was found.
    pub reason: String,
}

impl Detection {
    pub(crate) fn of(provider: SnapshotProvider, found: Result<String, String>) -> Self {
        let usable = found.is_ok();
        Self { provider, usable, reason: found.unwrap_or_else(|reason| reason) }
    }
}

/// What became of a file between two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    /// It is only in the second.
    Added,
    /// It is not the same.
    Changed,
    /// It is only in the first.
    Removed,
}

impl ChangeKind {
    /// The letter that people know from Git.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Changed => 'M',
            Self::Removed => 'D',
        }
    }
}

/// A file that is not the same in two states.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileChange {
    /// Its path below the directory.
    pub path: PathBuf,
    /// What became of it.
    pub kind: ChangeKind,
    /// Lines added and lines removed, of texts whose provider counts them.
    pub lines: Option<(u64, u64)>,
}

/// Where the programs of the providers are, as far as they were found.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    /// `git`.
    pub git: Option<PathBuf>,
    /// `btrfs`.
    pub btrfs: Option<PathBuf>,
    /// `zfs`.
    pub zfs: Option<PathBuf>,
    /// `agentfs`.
    pub agentfs: Option<PathBuf>,
}

/// Keeps snapshots of directories. Directories are absolute.
pub trait Provider {
    /// Which one it is.
    fn name(&self) -> SnapshotProvider;

    /// Whether it can work on `directory`. Changes nothing.
    fn detect(&self, directory: &Path) -> Detection;

    /// Takes a snapshot. Of two at once of a session, both are kept, one after the other.
    fn create(&self, directory: &Path, new: &NewSnapshot) -> Result<Created, SnapshotError>;

    /// The snapshots of all sessions, by session and number.
    fn list(&self, directory: &Path) -> Result<Vec<FileSnapshot>, SnapshotError>;

    /// What became of files from one snapshot to another, or to the directory as it is now.
    fn diff(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: Option<&FileSnapshot>,
    ) -> Result<Vec<FileChange>, SnapshotError>;

    /// As [`Self::diff`], as a patch that shows every line. Not every provider makes them.
    fn patch(
        &self,
        _directory: &Path,
        _from: &FileSnapshot,
        _to: Option<&FileSnapshot>,
    ) -> Result<Vec<u8>, SnapshotError> {
        Err(SnapshotError::Unsupported { provider: self.name(), what: "make patches" })
    }

    /// Writes the files into `to`, where nothing may be. It appears whole or not at all.
    fn restore(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: &Path,
    ) -> Result<(), SnapshotError>;

    /// Makes the files of `directory` those of `target`. `now` holds what is there; a file that it
    /// does not hold is neither removed nor written over: before anything is changed, that is
    /// [`SnapshotError::WouldBeLost`]. One that does not know what is ignored does not do it.
    fn restore_in_place(
        &self,
        _directory: &Path,
        _target: &FileSnapshot,
        _now: &FileSnapshot,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        Err(SnapshotError::Unsupported { provider: self.name(), what: "restore in place" })
    }

    /// Makes a writable copy.
    fn branch(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        new: &NewBranch,
    ) -> Result<Branch, SnapshotError>;

    /// Takes back what [`Self::branch`] made.
    fn unbranch(&self, directory: &Path, branch: &Branch) -> Result<(), SnapshotError>;

    /// Removes a snapshot.
    fn delete(&self, directory: &Path, snapshot: &FileSnapshot) -> Result<(), SnapshotError>;
}

/// One provider by its name.
pub fn provider(name: SnapshotProvider, programs: &Programs) -> Box<dyn Provider> {
    match name {
        SnapshotProvider::Git => Box::new(Git::new(programs.git.clone())),
        SnapshotProvider::Btrfs => Box::new(Btrfs::new(programs.btrfs.clone())),
        SnapshotProvider::Zfs => Box::new(Zfs::new(programs.zfs.clone())),
        SnapshotProvider::AgentFs => Box::new(AgentFs::new(programs.agentfs.clone())),
    }
}

/// All providers, the best first: what a file system does by itself costs no reading.
pub fn providers(programs: &Programs) -> Vec<Box<dyn Provider>> {
    use SnapshotProvider::{AgentFs, Btrfs, Git, Zfs};
    [Zfs, Btrfs, AgentFs, Git].into_iter().map(|name| provider(name, programs)).collect()
}

/// The provider of this name, else the best that can work on `directory`.
pub fn choose(
    directory: &Path,
    wanted: Option<SnapshotProvider>,
    programs: &Programs,
) -> Result<Box<dyn Provider>, SnapshotError> {
    let Some(name) = wanted else {
        let mut usable = providers(programs).into_iter().filter(|one| one.detect(directory).usable);
        let directory = directory.to_owned();
        return usable.next().ok_or(SnapshotError::NoProvider { directory });
    };
    let provider = provider(name, programs);
    let Detection { usable, reason, .. } = provider.detect(directory);
    match usable {
        true => Ok(provider),
        false => {
            let directory = directory.to_owned();
            Err(SnapshotError::Unusable { provider: name, directory, reason })
        }
    }
}

/// A writable copy of `directory` as it is now, and the snapshot it was made of: where a run may
/// work without touching the original.
pub fn working_copy(
    provider: &dyn Provider,
    directory: &Path,
    new: &NewSnapshot,
    branch: &NewBranch,
) -> Result<(Created, Branch), SnapshotError> {
    let created = provider.create(directory, new)?;
    let branch = provider.branch(directory, &created.snapshot, branch)?;
    Ok((created, branch))
}
