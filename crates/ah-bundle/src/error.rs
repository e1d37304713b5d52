//! What can go wrong with a state directory as a whole.

use std::path::{Path, PathBuf};

use ah_model::Invalid;

use crate::{Damage, Problem};

/// What went wrong, told by what the caller can do now.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The directory is not there: nothing was ever saved.
    #[error("no state yet: {} does not exist; `ah bundle save --state-dir {}` creates it", dir.display(), dir.display())]
    NoState {
        /// The directory.
        dir: PathBuf,
    },
    /// The directory is not as it must be: nothing was read, written or repaired.
    #[error("{} is refused: {reason}", dir.display())]
    UnsafeDirectory {
        /// The directory.
        dir: PathBuf,
        /// What is wrong with it, and what helps.
        reason: UnsafeDirectory,
    },
    /// No bundle of that scope is there.
    #[error("{} holds nothing for scope {scope:?}{}", dir.display(), others(dir, scopes))]
    NothingForScope {
        /// The directory.
        dir: PathBuf,
        /// The scope that was asked for.
        scope: String,
        /// The scopes there are.
        scopes: Vec<String>,
    },
    /// There are files of that scope, or pointers to it, and none can be used.
    #[error(
        "no valid bundle of scope {scope:?} is left in {}: {}; {}",
        dir.display(), listed(damage), next_command(dir, damage)
    )]
    AllDamaged {
        /// The directory.
        dir: PathBuf,
        /// The scope that was asked for.
        scope: String,
        /// The files and what is wrong with them.
        damage: Vec<Damage>,
    },
    /// No snapshot is called or hashed so.
    #[error(
        "no snapshot {name:?} in {}; `ah bundle list --state-dir {}` shows them all",
        dir.display(), dir.display()
    )]
    NoSnapshot {
        /// The directory.
        dir: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// One file that was asked for cannot be used.
    #[error(
        "{}: {}; {}",
        dir.join(&damage.file).display(), damage.problem,
        next_command(dir, std::slice::from_ref(damage))
    )]
    Damaged {
        /// The directory.
        dir: PathBuf,
        /// The file and what is wrong with it.
        damage: Damage,
    },
    /// What was given cannot be saved.
    #[error("the bundle cannot be saved: {0}")]
    Refused(Problem),
    /// A value that was given is not usable.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// An export that is not whole: nothing of it was written.
    #[error("the export is refused, nothing was written: {}", listed(damage))]
    BadExport {
        /// The snapshots and what is wrong with them.
        damage: Vec<Damage>,
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
}

/// Why a directory is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeDirectory {
    /// It is a file or something else.
    #[error("it is no directory; name another one with --state-dir")]
    NotADirectory,
    /// It is a symbolic link.
    #[error("it is a symbolic link; name the directory itself: --state-dir {}", target.display())]
    Symlink {
        /// Where the link leads.
        target: PathBuf,
    },
    /// It belongs to another user.
    #[error("it belongs to user {owner}; name one of your own with --state-dir")]
    ForeignOwner {
        /// The number of that user.
        owner: u32,
    },
    /// Others than its owner have access.
    #[error(
        "its mode is {mode:04o}, it must be 0700; \
         `ah bundle fix-permissions --state-dir {}` sets it", dir.display()
    )]
    UnsafeMode {
        /// The directory.
        dir: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

impl BundleError {
    pub(crate) fn file(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { operation, path, source }
    }
}

fn others(dir: &Path, scopes: &[String]) -> String {
    match scopes {
        [] => "; it is empty".to_owned(),
        [first, ..] => format!(
            "; it holds {} other(s), such as {first:?}: `ah bundle list --state-dir {}`",
            scopes.len(),
            dir.display()
        ),
    }
}

/// What helps with damage.
fn next_command(dir: &Path, damage: &[Damage]) -> String {
    let is_mode = |damage: &Damage| matches!(damage.problem, Problem::UnsafeMode { .. });
    let (verb, what) = match damage.iter().any(is_mode) {
        true => ("fix-permissions", "sets the modes"),
        false => ("verify", "shows everything"),
    };
    format!("`ah bundle {verb} --state-dir {}` {what}", dir.display())
}

/// The first few: a directory may hold thousands.
fn listed(damage: &[Damage]) -> String {
    const SHOWN: usize = 3;
    let mut text: Vec<String> = damage.iter().take(SHOWN).map(Damage::to_string).collect();
    if damage.len() > SHOWN {
        text.push(format!("and {} more", damage.len() - SHOWN));
    }
    text.join("; ")
}
