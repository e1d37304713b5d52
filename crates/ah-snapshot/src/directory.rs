//! Directories compared and copied, for providers whose snapshots are directories.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::Builder;

use crate::SnapshotError;
use crate::command;
use crate::error::file;
use crate::provider::{ChangeKind, FileChange};

/// Where snapshots of a subvolume are, inside of it; no part of what they hold.
pub(crate) const SNAPSHOTS: &str = ".ah-snapshots";
/// What is passed over: our own place, the repository of Git, whose changes say nothing about files,
/// and where ZFS shows its snapshots.
const PASSED_OVER: [&str; 3] = [SNAPSHOTS, ".git", ".zfs"];

/// The directory that `path` is to be made in; refuses one that is there, unless it is empty.
pub(crate) fn refuse_existing(path: &Path) -> Result<PathBuf, SnapshotError> {
    let exists = || SnapshotError::Exists { path: path.to_owned() };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(file("look at", path)(error)),
        // An empty directory is where people want it.
        Ok(_) => fs::remove_dir(path).map_err(|_| exists())?,
    }
    let parent = path.parent().ok_or_else(exists)?;
    fs::create_dir_all(parent).map_err(file("make", parent))?;
    Ok(parent.to_owned())
}

/// Copies all files of a snapshot to `to`, which appears whole or not at all.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), SnapshotError> {
    let parent = refuse_existing(to)?;
    let made = Builder::new().prefix(".ah-restore-").tempdir_in(&parent);
    let made = made.map_err(file("make a directory in", &parent))?;
    let files = made.path().join("files");
    let mut copy = Command::new("cp");
    command::run(copy.args(["-a", "--"]).arg(from).arg(&files), "-a", None)?;
    let inner = files.join(SNAPSHOTS);
    if inner.is_dir() {
        fs::remove_dir_all(&inner).map_err(file("remove", &inner))?;
    }
    fs::rename(&files, to).map_err(file("make", to))
}

/// What became of files from one directory to another, by path.
pub(crate) fn diff(from: &Path, to: &Path) -> Result<Vec<FileChange>, SnapshotError> {
    let (before, after) = (files(from)?, files(to)?);
    let mut changes = Vec::new();
    for (path, old) in &before {
        match after.get(path) {
            None => changes.push(change(path, ChangeKind::Removed)),
            Some(new) => {
                if !same((&from.join(path), old), (&to.join(path), new))? {
                    changes.push(change(path, ChangeKind::Changed));
                }
            }
        }
    }
    let added = after.keys().filter(|path| !before.contains_key(*path));
    changes.extend(added.map(|path| change(path, ChangeKind::Added)));
    changes.sort();
    Ok(changes)
}

fn change(path: &Path, kind: ChangeKind) -> FileChange {
    FileChange { path: path.to_owned(), kind, lines: None }
}

/// Every file and link below, by path.
fn files(top: &Path) -> Result<BTreeMap<PathBuf, Metadata>, SnapshotError> {
    let mut found = BTreeMap::new();
    let mut open = vec![PathBuf::new()];
    while let Some(directory) = open.pop() {
        let full = top.join(&directory);
        for entry in fs::read_dir(&full).map_err(file("read", &full))? {
            let entry = entry.map_err(file("read", &full))?;
            let path = directory.join(entry.file_name());
            if PASSED_OVER.iter().any(|name| path == Path::new(name)) {
                continue;
            }
            let data = entry.metadata().map_err(file("look at", &entry.path()))?;
            match data.is_dir() {
                true => open.push(path),
                false => drop(found.insert(path, data)),
            }
        }
    }
    Ok(found)
}

fn same(
    (old_path, old): (&Path, &Metadata),
    (new_path, new): (&Path, &Metadata),
) -> Result<bool, SnapshotError> {
    if old.mode() != new.mode() || old.len() != new.len() {
        return Ok(false);
    }
    // A snapshot shares inodes' numbers and times with what it was taken of.
    let stamp = |data: &Metadata| (data.ino(), data.mtime(), data.mtime_nsec(), data.ctime());
    if stamp(old) == stamp(new) && old.ctime_nsec() == new.ctime_nsec() {
        return Ok(true);
    }
    if old.is_symlink() {
        let target = |path: &Path| fs::read_link(path).map_err(file("read", path));
        return Ok(target(old_path)? == target(new_path)?);
    }
    if !old.is_file() {
        return Ok(true);
    }
    let open = |path: &Path| File::open(path).map(BufReader::new).map_err(file("open", path));
    equal(open(old_path)?, open(new_path)?).map_err(file("read", new_path))
}

fn equal(mut one: impl Read, mut other: impl Read) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = one.read(&mut a)?;
        if read == 0 {
            return Ok(other.read(&mut b)? == 0);
        }
        if other.read_exact(&mut b[..read]).is_err() || a[..read] != b[..read] {
            return Ok(false);
        }
    }
}
