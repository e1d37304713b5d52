//! Why an agent cannot be run here.

use std::io;
use std::path::{Path, PathBuf};

use ah_model::{Invalid, RunId, SessionId};
use ah_store::StoreError;

/// Why an agent cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file or directory of the run cannot be used.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// What was tried.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nobody says what is run for that kind.
    #[error("no program is known for the agent kind {kind}; known are {known}")]
    NoProgram {
        /// The kind.
        kind: String,
        /// Those that are known.
        known: String,
    },
    /// The program is not there.
    #[error("the program of {kind}, {program}, is not on this machine")]
    ProgramMissing {
        /// The kind.
        kind: String,
        /// Its program.
        program: String,
    },
    /// The kind cannot go on with a session.
    #[error("the agent kind {kind} has no command that goes on with a session")]
    NoResume {
        /// The kind.
        kind: String,
    },
    /// The program never said what it calls the session.
    #[error("session {session} has no id of {kind} to go on with")]
    NoExternal {
        /// The session.
        session: SessionId,
        /// The kind.
        kind: String,
    },
    /// Where the session works is not there.
    #[error("the directory of session {session}, {}, is not there", directory.display())]
    NoDirectory {
        /// The session.
        session: SessionId,
        /// The directory.
        directory: PathBuf,
    },
    /// Somebody else took the run, or it has ended.
    #[error("run {run} cannot be taken: {reason}")]
    NotTaken {
        /// The run.
        run: RunId,
        /// Why not.
        reason: String,
    },
    /// A working copy cannot be made.
    #[error("cannot make a working copy of {}: {reason}", directory.display())]
    WorkingCopy {
        /// Of what.
        directory: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A thread or a process cannot be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// What.
        what: String,
        /// Why not.
        source: io::Error,
    },
}

impl From<Invalid> for RunError {
    fn from(invalid: Invalid) -> Self {
        Self::Store(invalid.into())
    }
}

impl RunError {
    pub(crate) fn file(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { operation, path, source }
    }
}
