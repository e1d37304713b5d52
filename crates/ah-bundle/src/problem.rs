//! Why a file of a state directory is not used. Every cause is told apart.

use serde::Serialize;

use crate::json::JsonError;

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Problem {
    /// A pointer names it and it is not there.
    #[error("it is missing")]
    Missing,
    /// The system does not let it be read.
    #[error("it cannot be read: {reason}")]
    Unreadable {
        /// What the system said.
        reason: String,
    },
    /// It is no JSON, or JSON beyond the limits.
    #[error("it is no valid JSON: {reason}")]
    BadJson {
        /// What is wrong, and where.
        reason: String,
    },
    /// Its bytes are not those that were saved, or a pointer gives another hash.
    #[error("its sha256 is {found}, expected {expected}")]
    WrongSha {
        /// The hash, or the beginning of it, that was recorded.
        expected: String,
        /// The hash of the bytes.
        found: String,
    },
    /// A pointer gives no hash.
    #[error("it gives no sha256")]
    BlankSha,
    /// A format that is not known.
    #[error("its version is {found:?}, only \"1\" is known")]
    WrongVersion {
        /// The version it gives.
        found: String,
    },
    /// A key does not hold what it must.
    #[error("invalid {key}: {reason}")]
    Invalid {
        /// The key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It leads out of the directory.
    #[error("its path {path:?} is no file name in the directory")]
    PathTraversal {
        /// The path it gives.
        path: String,
    },
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Symlink,
    /// It belongs to another user.
    #[error("it belongs to user {owner}")]
    ForeignOwner {
        /// The number of that user.
        owner: u32,
    },
    /// Others than its owner may read or write it.
    #[error("its mode is {mode}, others than its owner must have no access")]
    UnsafeMode {
        /// The permission bits in octal.
        mode: String,
    },
    /// It is a directory, a pipe or a device.
    #[error("it is no regular file")]
    NotAFile,
    /// It is larger than what is read.
    #[error("it has {bytes} bytes, at most {max} are read")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// A head names a bundle of another scope.
    #[error("it names a bundle of scope {found:?}")]
    WrongScope {
        /// The scope of that bundle.
        found: String,
    },
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        Self::BadJson { reason: error.to_string() }
    }
}

/// A file and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
#[error("{file}: {problem}")]
pub struct Damage {
    /// The name of the file in the directory.
    pub file: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Damage {
    pub(crate) fn new(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), problem }
    }
}
