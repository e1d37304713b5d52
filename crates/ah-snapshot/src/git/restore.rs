//! Files of a snapshot written back: into a new directory, over the work tree, or as a branch in a
//! work tree of its own. Contents go through the repository without settings, so no filter changes
//! them, and Git is never told to write over a file.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ah_model::FileSnapshot;
use tempfile::Builder;

use super::log::{read, signed};
use super::repository::{Repository, Scratch};
use super::tree::{Disk, ended};
use crate::SnapshotError;
use crate::directory::refuse_existing;
use crate::error::file;
use crate::provider::{Branch, ChangeKind, FileChange, NewBranch};

/// Writes the files into `to`, which appears whole or not at all.
pub(super) fn into(
    at: &Repository<'_>,
    from: &FileSnapshot,
    to: &Path,
) -> Result<(), SnapshotError> {
    let parent = refuse_existing(to)?;
    let made = Builder::new().prefix(".ah-restore-").tempdir_in(&parent);
    let made = made.map_err(file("make a directory in", &parent))?;
    let files = made.path().join("files");
    fs::create_dir(&files).map_err(file("make", &files))?;
    check_out(at, from, &files)?;
    fs::rename(&files, to).map_err(file("make", to))
}

/// Writes all files into a directory that has none of them.
fn check_out(at: &Repository<'_>, from: &FileSnapshot, to: &Path) -> Result<(), SnapshotError> {
    let scratch = index_of(at, from)?;
    let call = at.plain(to, &["checkout-index", "--all", "--quiet"])?;
    call.env("GIT_INDEX_FILE", &scratch.index).run().map(drop)
}

fn index_of(at: &Repository<'_>, from: &FileSnapshot) -> Result<Scratch, SnapshotError> {
    let scratch = at.scratch()?;
    let call = at.plain(&at.top, &["read-tree"])?.arg(read(at, from)?);
    call.env("GIT_INDEX_FILE", &scratch.index).run()?;
    Ok(scratch)
}

/// Applies `changes`, which lead from what a snapshot holds of the work tree to `target`.
pub(super) fn in_place(
    at: &Repository<'_>,
    target: &FileSnapshot,
    changes: &[FileChange],
) -> Result<(), SnapshotError> {
    let bytes = |change: &FileChange| change.path.as_os_str().as_bytes().to_vec();
    let (removed, written): (Vec<_>, Vec<_>) =
        changes.iter().partition(|change| change.kind == ChangeKind::Removed);
    // What is there before, and will not be: these, and those that are written anew.
    let held: BTreeSet<&Path> = changes
        .iter()
        .filter(|change| change.kind != ChangeKind::Added)
        .map(|change| change.path.as_path())
        .collect();
    refuse_losses(at, &written, &held)?;
    let mut disk = Disk::new(&at.top);
    let replaced = written.iter().filter(|change| change.kind == ChangeKind::Changed);
    for change in removed.iter().chain(replaced) {
        // The directory of another repository is not ours to remove.
        if disk.look(&bytes(change)).is_some_and(|found| !found.is_dir()) {
            remove(&at.top, &change.path)?;
        }
    }
    let scratch = index_of(at, target)?;
    let paths: Vec<Vec<u8>> = written.iter().map(|change| bytes(change)).collect();
    at.plain(&at.top, &["checkout-index", "--quiet", "-z", "--stdin"])?
        .env("GIT_INDEX_FILE", &scratch.index)
        .input(ended(paths.iter().map(Vec::as_slice)))
        .run()
        .map(drop)
}

/// Refuses to write where there is something that no snapshot holds.
fn refuse_losses(
    at: &Repository<'_>,
    written: &[&FileChange],
    held: &BTreeSet<&Path>,
) -> Result<(), SnapshotError> {
    let mut lost = BTreeSet::new();
    for change in written.iter().filter(|change| change.kind == ChangeKind::Added) {
        let ways = change.path.ancestors().filter(|path| !path.as_os_str().is_empty());
        for path in ways {
            match fs::symlink_metadata(at.top.join(path)) {
                Ok(found) if found.is_dir() && path == change.path => {
                    unheld(&at.top, path, held, &mut lost)?;
                }
                Ok(found) if !found.is_dir() && !held.contains(path) => {
                    lost.insert(path.to_owned());
                }
                _ => {}
            }
        }
    }
    match lost.is_empty() {
        true => Ok(()),
        false => Err(SnapshotError::WouldBeLost {
            directory: at.top.clone(),
            paths: lost.into_iter().collect(),
        }),
    }
}

/// Files below a directory that no snapshot holds.
fn unheld(
    top: &Path,
    directory: &Path,
    held: &BTreeSet<&Path>,
    lost: &mut BTreeSet<PathBuf>,
) -> Result<(), SnapshotError> {
    let full = top.join(directory);
    for entry in fs::read_dir(&full).map_err(file("read", &full))? {
        let entry = entry.map_err(file("read", &full))?;
        let path = directory.join(entry.file_name());
        let kind = entry.file_type().map_err(file("read", &full))?;
        if kind.is_dir() {
            unheld(top, &path, held, lost)?;
        } else if !held.contains(path.as_path()) {
            lost.insert(path);
        }
    }
    Ok(())
}

/// Removes a file, and directories above it that are left without anything.
fn remove(top: &Path, path: &Path) -> Result<(), SnapshotError> {
    let full = top.join(path);
    fs::remove_file(&full).map_err(file("remove", &full))?;
    for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        match fs::remove_dir(top.join(above)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => break,
        }
    }
    Ok(())
}

/// Makes a branch whose one new commit is the snapshot, on the commit that was checked out then.
pub(super) fn branch(
    at: &Repository<'_>,
    from: &FileSnapshot,
    new: &NewBranch,
) -> Result<Branch, SnapshotError> {
    refuse_existing(&new.directory)?;
    let tree = format!("{}^{{tree}}", read(at, from)?);
    let mut call = at.plain(&at.top, &["commit-tree", &tree])?;
    if let Some(base) = &from.base {
        call = call.arg("-p").arg(base);
    }
    let FileSnapshot { number, session_id, .. } = from;
    let title = format!("Snapshot {number} of session {session_id}\n");
    let commit = signed(call, from).input(title.into_bytes()).run()?.line();
    let add = ["worktree", "add", "--quiet", "--no-checkout", "-b", &new.name, "--"];
    at.call_in(&at.top, &add).arg(&new.directory).arg(&commit).run()?;
    let made = Branch { name: new.name.clone(), directory: new.directory.clone() };
    let filled = check_out(at, from, &new.directory).and_then(|()| {
        at.call_in(&new.directory, &["read-tree", "HEAD"]).run()?;
        // It says no where a filter of the user's would store other bytes.
        at.call_in(&new.directory, &["update-index", "-q", "--refresh"]).try_run().map(drop)
    });
    match filled {
        Ok(()) => Ok(made),
        Err(error) => {
            // The first error is the one to tell.
            let _ = unbranch(at, &made);
            Err(error)
        }
    }
}

/// Removes a branch with its work tree.
pub(super) fn unbranch(at: &Repository<'_>, branch: &Branch) -> Result<(), SnapshotError> {
    let remove = ["worktree", "remove", "--force", "--"];
    at.call_in(&at.top, &remove).arg(&branch.directory).run()?;
    at.call_in(&at.top, &["branch", "--quiet", "-D", "--", &branch.name]).run().map(drop)
}
