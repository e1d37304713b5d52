//! A state directory: where it is, and what every verb begins with.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::disk::Dir;
use crate::resolve::{Resolved, resolve};
use crate::snapshot::{Snapshot, is_snapshot_name, short_sha};
use crate::{BundleError, Damage};

/// Largest snapshot that is read or written, unless said otherwise.
pub const SNAPSHOT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A directory of bundles. Making one of these touches nothing.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
    pub(crate) bytes_max: u64,
    pub(crate) at: fn(Step) -> io::Result<()>,
}

/// Whether a change is made or only told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// It is only told.
    Yes,
    /// It is made.
    No,
}

/// What a save has done so far; tests stop it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It holds the lock and knows the parent.
    Locked,
    /// The snapshot has its bytes, but no name.
    SnapshotWritten,
    /// So have the head and `latest.json`, before the snapshot or after it.
    PointersWritten,
    /// All three would survive a power cut.
    Synced,
    /// The snapshot has its name.
    SnapshotNamed,
    /// The head has its name.
    HeadNamed,
    /// `latest.json` has its name.
    LatestNamed,
    /// The names would survive a power cut.
    NamesSynced,
    /// The pointers before these are the spare of the next save.
    Done,
}

impl Step {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Locked,
        Self::SnapshotWritten,
        Self::PointersWritten,
        Self::Synced,
        Self::SnapshotNamed,
        Self::HeadNamed,
        Self::LatestNamed,
        Self::NamesSynced,
        Self::Done,
    ];
}

/// The newest valid bundle of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loaded {
    /// The bundle and its file.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Files that are damaged and were passed over, and pointers that are wrong.
    pub damage: Vec<Damage>,
}

impl StateDir {
    /// The directory at `path`, which need not be there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), bytes_max: SNAPSHOT_BYTES_MAX, at: |_| Ok(()) }
    }

    /// With another largest size of a snapshot.
    #[must_use]
    pub fn with_bytes_max(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Calls `at` after every step of a save, which stops at an error: for tests of crashes.
    #[doc(hidden)]
    #[must_use]
    pub fn with_steps(self, at: fn(Step) -> io::Result<()>) -> Self {
        Self { at, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest valid bundle of a scope. Damaged files are passed over and named; nothing is
    /// written, moved or locked.
    pub fn load(&self, scope: &str) -> Result<Loaded, BundleError> {
        let dir = self.open()?;
        self.found(&dir, scope, resolve(&dir, scope, self.bytes_max)?)
    }

    /// One snapshot, by its name or by the beginning of its hash (at least 6 digits).
    pub fn read(&self, name: &str) -> Result<Snapshot, BundleError> {
        let dir = self.open()?;
        let is_name = is_snapshot_name(name) && !name.contains('/') && dir.holds(name);
        let (names, sha) = match is_name {
            true => (vec![name.to_owned()], String::new()),
            false => (named_by(&dir, name)?, name.to_ascii_lowercase()),
        };
        let mut fitting = Vec::new();
        for name in names {
            match Snapshot::read(&dir, &name, None, self.bytes_max) {
                Ok(snapshot) => {
                    fitting.extend(Some(snapshot).filter(|one| one.sha.starts_with(&sha)))
                }
                Err(problem) => {
                    let damage = Damage { file: name, problem };
                    return Err(BundleError::Damaged { dir: self.path.clone(), damage });
                }
            }
        }
        match (fitting.pop(), fitting.pop()) {
            (Some(only), None) => Ok(only),
            _ => Err(BundleError::NoSnapshot { dir: self.path.clone(), name: name.to_owned() }),
        }
    }

    pub(crate) fn open(&self) -> Result<Dir, BundleError> {
        Dir::open(&self.path)?.ok_or_else(|| BundleError::NoState { dir: self.path.clone() })
    }

    pub(crate) fn found(
        &self,
        dir: &Dir,
        scope: &str,
        resolved: Resolved,
    ) -> Result<Loaded, BundleError> {
        let (dir, scope) = (dir.path().to_owned(), scope.to_owned());
        let Resolved { snapshot, damage, scopes, .. } = resolved;
        match snapshot {
            Some(snapshot) => Ok(Loaded { snapshot, damage }),
            None if damage.is_empty() => Err(BundleError::NothingForScope { dir, scope, scopes }),
            None => Err(BundleError::AllDamaged { dir, scope, damage }),
        }
    }
}

/// The snapshots whose name gives the beginning of a hash.
fn named_by(dir: &Dir, sha: &str) -> Result<Vec<String>, BundleError> {
    const SHORTEST: usize = 6;
    let sha = sha.to_ascii_lowercase();
    if sha.len() < SHORTEST || !sha.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(Vec::new());
    }
    let mut names = dir.names()?;
    names.retain(|name| {
        let short = short_sha(name).filter(|_| is_snapshot_name(name));
        short.is_some_and(|short| sha.starts_with(&short) || short.starts_with(&sha))
    });
    Ok(names)
}
