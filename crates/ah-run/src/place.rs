//! Where an agent works: in place, or in a working copy of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::{
    Labels, Run, RunKind, RunParameters, Session, SessionId, SnapshotProvider, WorkingCopy,
};
use ah_snapshot::{Ignored, NewBranch, NewSnapshot, Programs};

use crate::{LocalOptions, RunError};

/// How much of a session's id names its branch and working copy.
const SHORT_CHARS: usize = 12;

/// Where an agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The directory that the program begins in.
    pub(crate) directory: PathBuf,
    /// The root of its own working copy, if it has one.
    pub(crate) copy: Option<PathBuf>,
}

/// The end of an id that tells a session from others: ids begin with the time.
pub fn short(session: &SessionId) -> String {
    let id = session.as_str();
    let letters: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let from = letters.len().saturating_sub(SHORT_CHARS);
    letters.into_iter().skip(from).collect()
}

/// The place of a run, made if it is to be one of its own.
pub(crate) fn prepare(
    options: &LocalOptions,
    run: &Run,
    session: &Session,
    told: &RunParameters,
) -> Result<Place, RunError> {
    let directory = directory(options, session)?;
    // Whoever goes on does so where it was.
    let copy = match run.kind {
        RunKind::Start => told.working_copy,
        RunKind::Resume => WorkingCopy::InPlace,
    };
    match copy {
        WorkingCopy::InPlace => Ok(Place { directory, copy: None }),
        WorkingCopy::Worktree => worktree(&options.state, session, told, &directory),
        WorkingCopy::Snapshot => snapshot(options, run, session, told, &directory),
    }
}

/// Where the session works, which must be there.
pub(crate) fn directory(options: &LocalOptions, session: &Session) -> Result<PathBuf, RunError> {
    let root = session.repo.root_path.clone();
    let directory = session.details.project_dir.clone().or(root).map(PathBuf::from);
    let directory = directory.unwrap_or_default();
    if directory.is_dir() {
        return Ok(directory);
    }
    let moved = (options.moved_to)(&*options.store, session);
    moved.ok_or_else(|| RunError::NoDirectory { session: session.id.clone(), directory })
}

/// A copy of everything as it is now, with what is not committed, by whoever keeps snapshots of the
/// directory; the one that is there already if the run was tried before.
fn snapshot(
    options: &LocalOptions,
    run: &Run,
    session: &Session,
    told: &RunParameters,
    directory: &Path,
) -> Result<Place, RunError> {
    let refused =
        |reason: String| RunError::WorkingCopy { directory: directory.to_owned(), reason };
    let provider = ah_snapshot::choose(directory, None, &snapshot_programs(options))
        .map_err(|error| refused(error.to_string()))?;
    let (root, below) = match provider.name() {
        SnapshotProvider::Git => repository(directory)?,
        SnapshotProvider::Btrfs | SnapshotProvider::Zfs | SnapshotProvider::AgentFs => {
            (directory.to_owned(), String::new())
        }
    };
    let copy = copy_of(&options.state, session);
    if !copy.is_dir() {
        let new = NewSnapshot {
            session: session.id.clone(),
            at: options.clock.now(),
            nonce: run.id.as_str().chars().filter(char::is_ascii_hexdigit).collect(),
            message: Some("where a run began".to_owned()),
            labels: Labels::default(),
            ignored: Ignored::LeftOut,
        };
        let name = branch_of(session, told);
        let branch = NewBranch { name, directory: copy.clone() };
        ah_snapshot::working_copy(&*provider, &root, &new, &branch)
            .map_err(|error| refused(error.to_string()))?;
    }
    Ok(in_copy(copy, &below))
}

fn snapshot_programs(options: &LocalOptions) -> Programs {
    let find =
        |name: &str| options.search.iter().map(|dir| dir.join(name)).find(|path| path.is_file());
    Programs { git: find("git"), btrfs: find("btrfs"), zfs: find("zfs"), agentfs: find("agentfs") }
}

/// Where the copy of a session is, if it has one.
fn copy_of(state: &Path, session: &Session) -> PathBuf {
    state.join("worktrees").join(short(&session.id))
}

/// The place in a copy that is called so below its root; the root itself has no slash at its end.
fn in_copy(copy: PathBuf, below: &str) -> Place {
    let directory = if below.is_empty() { copy.clone() } else { copy.join(below) };
    Place { directory, copy: Some(copy) }
}

fn branch_of(session: &Session, told: &RunParameters) -> String {
    told.branch.clone().unwrap_or_else(|| format!("ah/{}", short(&session.id)))
}

/// The root of the repository, and how `directory` is called below it.
fn repository(directory: &Path) -> Result<(PathBuf, String), RunError> {
    let root = git(directory, &["rev-parse", "--show-toplevel"])?;
    Ok((PathBuf::from(root), git(directory, &["rev-parse", "--show-prefix"])?))
}

/// A git worktree below the state directory, on a branch of its own; the one that is there already
/// if the run was tried before.
fn worktree(
    state: &Path,
    session: &Session,
    told: &RunParameters,
    directory: &Path,
) -> Result<Place, RunError> {
    let (root, below) = repository(directory)?;
    let copy = copy_of(state, session);
    if !copy.is_dir() {
        let branch = branch_of(session, told);
        let path = copy.to_string_lossy();
        let known = git(&root, &["rev-parse", "--verify", "--quiet", &branch]).is_ok();
        let words: &[&str] = match known {
            true => &["worktree", "add", "--quiet", &path, &branch],
            false => &["worktree", "add", "--quiet", "-b", &branch, &path],
        };
        git(&root, words)?;
    }
    Ok(in_copy(copy, &below))
}

/// Whether a working copy has nothing that is not committed.
pub fn is_clean(copy: &Path) -> Result<bool, RunError> {
    git(copy, &["status", "--porcelain"]).map(|changes| changes.is_empty())
}

/// Removes a working copy, and leaves its branch.
pub fn remove_worktree(copy: &Path) -> Result<(), RunError> {
    let common = git(copy, &["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let path = copy.to_string_lossy();
    let words = ["worktree", "remove", "--force", &path];
    git(Path::new(&common), &words).map(drop)
}

/// What git answers, without the end of its line.
fn git(directory: &Path, words: &[&str]) -> Result<String, RunError> {
    let refused =
        |reason: String| RunError::WorkingCopy { directory: directory.to_owned(), reason };
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(words);
    // Whoever calls us from a hook of git has a repository in mind that need not be this one.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(name);
    }
    let done = command.output();
    let done = done.map_err(|error| refused(format!("git cannot be run: {error}")))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(refused(said.trim().to_owned()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end_matches('\n').to_owned())
}
