//! AgentFS: a file system in one SQLite file, of the program `agentfs`.
//!
//! Its program mounts such files, lists them and shows what differs from their base, but has no
//! command that takes a snapshot: its manual says to copy the file, which is only right while nobody
//! has it mounted, and then there is no directory to work in. So it is detected, and said to be of no
//! use here.

use std::path::{Path, PathBuf};

use ah_model::{FileSnapshot, SnapshotProvider};

use crate::SnapshotError;
use crate::provider::{Branch, Created, Detection, FileChange, NewBranch, NewSnapshot, Provider};

#[derive(Debug)]
pub(crate) struct AgentFs {
    program: Option<PathBuf>,
}

impl AgentFs {
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program }
    }
}

fn unsupported<T>() -> Result<T, SnapshotError> {
    let provider = SnapshotProvider::AgentFs;
    Err(SnapshotError::Unsupported { provider, what: "take snapshots" })
}

impl Provider for AgentFs {
    fn name(&self) -> SnapshotProvider {
        SnapshotProvider::AgentFs
    }

    fn detect(&self, _directory: &Path) -> Detection {
        let reason = match &self.program {
            None => "there is no program `agentfs`".to_owned(),
            Some(program) => format!(
                "{} has no command that takes a snapshot of a mounted directory",
                program.display()
            ),
        };
        Detection::of(self.name(), Err(reason))
    }

    fn create(&self, _directory: &Path, _new: &NewSnapshot) -> Result<Created, SnapshotError> {
        unsupported()
    }

    fn list(&self, _directory: &Path) -> Result<Vec<FileSnapshot>, SnapshotError> {
        Ok(Vec::new())
    }

    fn diff(
        &self,
        _directory: &Path,
        _from: &FileSnapshot,
        _to: Option<&FileSnapshot>,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        unsupported()
    }

    fn restore(
        &self,
        _directory: &Path,
        _from: &FileSnapshot,
        _to: &Path,
    ) -> Result<(), SnapshotError> {
        unsupported()
    }

    fn branch(
        &self,
        _directory: &Path,
        _from: &FileSnapshot,
        _new: &NewBranch,
    ) -> Result<Branch, SnapshotError> {
        unsupported()
    }

    fn unbranch(&self, _directory: &Path, _branch: &Branch) -> Result<(), SnapshotError> {
        unsupported()
    }

    fn delete(&self, _directory: &Path, _snapshot: &FileSnapshot) -> Result<(), SnapshotError> {
        unsupported()
    }
}
