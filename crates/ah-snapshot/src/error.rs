//! Why something was not done with a snapshot, by what can be done about it.

use std::io;
use std::path::{Path, PathBuf};

use ah_model::SnapshotProvider;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The provider cannot work on this directory.
    #[error("{provider} cannot be used for {}: {reason}", directory.display())]
    Unusable {
        /// Who was asked.
        provider: SnapshotProvider,
        /// For which directory.
        directory: PathBuf,
        /// Why not.
        reason: String,
    },
    /// No provider can work on this directory.
    #[error("no provider of snapshots can be used for {}", directory.display())]
    NoProvider {
        /// The directory.
        directory: PathBuf,
    },
    /// The provider does not do this.
    #[error("{provider} does not {what}")]
    Unsupported {
        /// Who was asked.
        provider: SnapshotProvider,
        /// What it does not do.
        what: &'static str,
    },
    /// The provider has no such snapshot any more.
    #[error("snapshot {id} is gone from {reference}")]
    Gone {
        /// Which one.
        id: String,
        /// Where it was.
        reference: String,
    },
    /// Something is already where a directory was to be made.
    #[error("{} is there already", path.display())]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// Files that no snapshot holds are in the way.
    #[error("{} in {} would be lost, and no snapshot holds them", listed(paths), directory.display())]
    WouldBeLost {
        /// Where.
        directory: PathBuf,
        /// Which files, in order.
        paths: Vec<PathBuf>,
    },
    /// Files or attributes that cannot be kept as they are.
    #[error("{reason}")]
    NotKept {
        /// What and why.
        reason: String,
    },
    /// A program did not do what it was asked.
    #[error("{program} {command}: {reason}")]
    Program {
        /// The program.
        program: String,
        /// Its command.
        command: String,
        /// What it said.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// How many paths an error names.
const LISTED_MAX: usize = 5;

fn listed(paths: &[PathBuf]) -> String {
    let named: Vec<_> = paths.iter().take(LISTED_MAX).map(|p| p.display().to_string()).collect();
    match paths.len().saturating_sub(LISTED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Names the operation and the path of an error of the file system.
pub(crate) fn file<'a>(
    operation: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> SnapshotError + 'a {
    move |source| SnapshotError::File { operation, path: path.to_owned(), source }
}
