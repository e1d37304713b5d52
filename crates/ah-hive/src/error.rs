//! What can go wrong on the host beside the store.

use std::path::PathBuf;

use ah_store::StoreError;

/// What went wrong, told by what the caller can do now.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A home that is not as it must be: nothing was repaired.
    #[error("{}: {reason}", path.display())]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file system refused.
    #[error("cannot {operation} {}", path.display())]
    File {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Git refused.
    #[error("git {command} failed: {reason}")]
    Git {
        /// Which of its commands.
        command: String,
        /// What it said.
        reason: String,
    },
}

impl From<ah_model::Invalid> for HostError {
    fn from(invalid: ah_model::Invalid) -> Self {
        Self::Store(invalid.into())
    }
}

/// The message with the causes it has.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
