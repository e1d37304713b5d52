//! Git: a snapshot is a commit of the work tree under `refs/ah/sessions/<session>/<number>`.
//!
//! The user's index, branches, head, stash, reflogs and settings stay as they are; no hook runs and
//! nothing is signed. The ref keeps the commit from being collected, and no default push sends it.
//! A commit's parents are the snapshot before it and the commit that was checked out; its message
//! says in its last line what the snapshot is, so listing needs nothing but the repository.

mod log;
mod repository;
mod restore;
mod tree;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ah_model::{FileSnapshot, SnapshotProvider};

use self::log::{read, reference};
use self::repository::Repository;
use self::tree::{Tree, entries};
use crate::SnapshotError;
use crate::provider::{
    Branch, ChangeKind, Created, Detection, FileChange, Ignored, NewBranch, NewSnapshot, Provider,
};

/// How often the next number is tried while others take it.
const ATTEMPTS_MAX: usize = 100;

#[derive(Debug)]
pub(crate) struct Git {
    program: Option<PathBuf>,
}

impl Git {
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program }
    }

    fn open(&self, directory: &Path) -> Result<Repository<'_>, SnapshotError> {
        match &self.program {
            Some(program) => Repository::open(program, directory),
            None => Err(SnapshotError::Unusable {
                provider: SnapshotProvider::Git,
                directory: directory.to_owned(),
                reason: "there is no program `git`".to_owned(),
            }),
        }
    }
}

impl Provider for Git {
    fn name(&self) -> SnapshotProvider {
        SnapshotProvider::Git
    }

    fn detect(&self, directory: &Path) -> Detection {
        let found = match self.open(directory) {
            Ok(at) => Ok(format!("in the work tree {}", at.top.display())),
            Err(SnapshotError::Unusable { reason, .. }) => Err(reason),
            Err(error) => Err(error.to_string()),
        };
        Detection::of(self.name(), found)
    }

    fn create(&self, directory: &Path, new: &NewSnapshot) -> Result<Created, SnapshotError> {
        let at = self.open(directory)?;
        let commits = commits(&log::list(&at)?);
        let tree = Tree::of(&at, new.ignored, &commits)?;
        let base = log::head(&at)?;
        for _ in 0..ATTEMPTS_MAX {
            let last = log::last(&at, &new.session)?;
            let mut snapshot = FileSnapshot {
                id: String::new(),
                session_id: new.session.clone(),
                number: last.as_ref().map_or(1, |last| last.number + 1),
                provider: SnapshotProvider::Git,
                reference: String::new(),
                directory: at.top.to_string_lossy().into_owned(),
                created_at: new.at,
                parent: last.map(|last| last.id),
                base: base.clone(),
                message: new.message.clone(),
                labels: new.labels.clone(),
            };
            snapshot.reference = reference(&new.session, snapshot.number);
            snapshot.id = log::commit(&at, &tree.id, &snapshot)?;
            if log::publish(&at, &snapshot)? {
                let not_kept = tree.not_kept.clone();
                // It is only there to save time: the snapshot is taken without it.
                let _ = tree.keep_index(&at, &snapshot.id);
                return Ok(Created { snapshot, not_kept });
            }
        }
        let reason = format!("{ATTEMPTS_MAX} others took the next number of {}", new.session);
        Err(crate::command::failed(Path::new("git"), "update-ref", reason))
    }

    fn list(&self, directory: &Path) -> Result<Vec<FileSnapshot>, SnapshotError> {
        log::list(&self.open(directory)?)
    }

    fn diff(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: Option<&FileSnapshot>,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        let at = self.open(directory)?;
        changes(&at, from, to)
    }

    fn patch(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: Option<&FileSnapshot>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let at = self.open(directory)?;
        let args = ["diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv"];
        let to = tree_of(&at, to)?;
        Ok(at.plain(&at.top, &args)?.arg(read(&at, from)?).arg(to).run()?.text)
    }

    fn restore(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        to: &Path,
    ) -> Result<(), SnapshotError> {
        restore::into(&self.open(directory)?, from, to)
    }

    fn restore_in_place(
        &self,
        directory: &Path,
        target: &FileSnapshot,
        now: &FileSnapshot,
    ) -> Result<Vec<FileChange>, SnapshotError> {
        let at = self.open(directory)?;
        let changes = changes(&at, now, Some(target))?;
        restore::in_place(&at, target, &changes)?;
        Ok(changes)
    }

    fn branch(
        &self,
        directory: &Path,
        from: &FileSnapshot,
        new: &NewBranch,
    ) -> Result<Branch, SnapshotError> {
        restore::branch(&self.open(directory)?, from, new)
    }

    fn unbranch(&self, directory: &Path, branch: &Branch) -> Result<(), SnapshotError> {
        restore::unbranch(&self.open(directory)?, branch)
    }

    fn delete(&self, directory: &Path, snapshot: &FileSnapshot) -> Result<(), SnapshotError> {
        log::delete(&self.open(directory)?, snapshot)
    }
}

fn commits(snapshots: &[FileSnapshot]) -> BTreeSet<String> {
    snapshots.iter().map(|snapshot| snapshot.id.clone()).collect()
}

/// The commit of a snapshot, or the tree of the work tree as it is now.
fn tree_of(at: &Repository<'_>, snapshot: Option<&FileSnapshot>) -> Result<String, SnapshotError> {
    match snapshot {
        Some(snapshot) => read(at, snapshot),
        None => Ok(Tree::of(at, Ignored::LeftOut, &commits(&log::list(at)?))?.id),
    }
}

fn changes(
    at: &Repository<'_>,
    from: &FileSnapshot,
    to: Option<&FileSnapshot>,
) -> Result<Vec<FileChange>, SnapshotError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--no-ext-diff"];
    let to = tree_of(at, to)?;
    let text = at.plain(&at.top, &args)?.arg(read(at, from)?).arg(to).run()?.text;
    Ok(read_changes(&text))
}

/// Reads `:MODE MODE ID ID LETTER<zero>PATH<zero>` for every file, then `ADDED<tab>REMOVED<tab>PATH`.
fn read_changes(text: &[u8]) -> Vec<FileChange> {
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let mut changes = Vec::<FileChange>::new();
    let mut entries = entries(text);
    while let Some(entry) = entries.next() {
        if entry.starts_with(b":") {
            let kind = match entry.last() {
                Some(b'A') => ChangeKind::Added,
                Some(b'D') => ChangeKind::Removed,
                _ => ChangeKind::Changed,
            };
            let path = path(entries.next().unwrap_or_default());
            changes.push(FileChange { path, kind, lines: None });
            continue;
        }
        let mut parts = entry.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(parts.next()?).ok()?.parse().ok();
        let lines = number().zip(number());
        let path = path(parts.next().unwrap_or_default());
        if let Ok(found) = changes.binary_search_by(|change| compare(&change.path, &path)) {
            changes[found].lines = lines;
        }
    }
    changes
}

/// The order of Git: by bytes.
fn compare(one: &Path, other: &Path) -> std::cmp::Ordering {
    one.as_os_str().as_bytes().cmp(other.as_os_str().as_bytes())
}
