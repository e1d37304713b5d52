//! Repositories to take snapshots of, and everything about them that must not change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use ah_model::{FileSnapshot, Labels, SnapshotProvider, Timestamp};
use ah_snapshot::{Ignored, NewSnapshot, Programs, Provider, provider};
use tempfile::TempDir;

pub(crate) const SESSION: &str = "ses_0123456789ab";

/// A work tree of Git in a directory of its own, with a user's settings that would spoil a snapshot.
pub(crate) struct Work {
    pub(crate) home: TempDir,
    pub(crate) top: PathBuf,
}

impl Work {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(home.path()).unwrap().join("work");
        fs::create_dir(&top).unwrap();
        let work = Self { home, top };
        work.git(&["init", "--quiet", "--initial-branch=main"]);
        for (key, value) in [("user.name", "User"), ("user.email", "user@example.org")] {
            work.git(&["config", key, value]);
        }
        work
    }

    /// As [`Self::new`], with one commit.
    pub(crate) fn committed() -> Self {
        let work = Self::new();
        work.put("a.txt", b"one\n");
        work.put("dir/b.txt", b"two\n");
        work.put(".gitignore", b"*.log\nbuild/\n");
        work.git(&["add", "-A"]);
        work.git(&["commit", "--quiet", "-m", "first"]);
        work
    }

    /// Makes what every situation has: changed, new, ignored and executable files, and links.
    pub(crate) fn dirty(&self) {
        self.put("a.txt", b"one\r\nchanged\r\n");
        self.put("new file", b"\0\xff binary");
        self.put("run.sh", b"#!/bin/sh\n");
        fs::set_permissions(self.top.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("dir/b.txt", self.top.join("link")).unwrap();
        std::os::unix::fs::symlink("/nowhere at all", self.top.join("dangling")).unwrap();
        self.put("ignored.log", b"not kept");
        self.put("build/out", b"not kept");
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        put(&self.top.join(path), bytes);
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.top, args)
    }

    pub(crate) fn provider(&self) -> Box<dyn Provider> {
        provider(SnapshotProvider::Git, &programs())
    }

    pub(crate) fn create(&self) -> FileSnapshot {
        self.provider().create(&self.top, &new(SESSION)).unwrap().snapshot
    }

    /// A path where nothing is.
    pub(crate) fn free(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join(name)
    }
}

pub(crate) fn programs() -> Programs {
    let found = |name: &str| {
        ["/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin"]
            .iter()
            .map(|directory| Path::new(directory).join(name))
            .find(|path| path.is_file())
    };
    Programs { git: found("git"), ..Programs::default() }
}

pub(crate) fn new(session: &str) -> NewSnapshot {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    NewSnapshot {
        session: session.parse().unwrap(),
        at: Timestamp::from_unix_ms(1_700_000_000_000),
        nonce: format!("{next:016x}"),
        message: None,
        labels: Labels::default(),
        ignored: Ignored::LeftOut,
    }
}

pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub(crate) fn git(directory: &Path, args: &[&str]) -> String {
    let output = try_git(directory, args);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn try_git(directory: &Path, args: &[&str]) -> std::process::Output {
    Command::new("git")
        .args(args)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap()
}

/// What is of the user: all files of `.git` but objects and ours, and what Git says of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Theirs {
    status: String,
    refs: String,
    stash: String,
    files: BTreeMap<PathBuf, Kept>,
}

impl Theirs {
    pub(crate) fn of(top: &Path) -> Self {
        let common = git(top, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let mut files = kept(Path::new(common.trim()));
        files.retain(|path, _| {
            let text = path.to_string_lossy();
            !text.starts_with("objects/")
                && !text.starts_with("refs/ah/")
                && !text.starts_with("ah/")
                && !text.contains("/ah/")
        });
        let refs = git(top, &["for-each-ref"]);
        Self {
            status: git(top, &["status", "--porcelain=v2", "--branch", "--ignored"]),
            refs: refs.lines().filter(|line| !line.contains("refs/ah/")).collect(),
            stash: git(top, &["stash", "list"]),
            files,
        }
    }
}

/// A file or link as it must come back.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) enum Kept {
    File { bytes: Vec<u8>, executable: bool },
    Link(Vec<u8>),
}

/// Every file and link below, by path.
pub(crate) fn kept(top: &Path) -> BTreeMap<PathBuf, Kept> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let below = path.strip_prefix(top).unwrap().to_owned();
            if data.is_dir() {
                open.push(path);
            } else if data.is_symlink() {
                let target = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
                found.insert(below, Kept::Link(target));
            } else {
                let executable = data.mode() & 0o100 != 0;
                found.insert(below, Kept::File { bytes: fs::read(&path).unwrap(), executable });
            }
        }
    }
    found
}

/// What a snapshot has to hold of a work tree: what Git tracks, and what it does not ignore.
pub(crate) fn expected(top: &Path) -> BTreeMap<PathBuf, Kept> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = try_git(top, &list).stdout;
    let listed: BTreeSet<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let mut files = kept(top);
    files.retain(|path, _| listed.contains(path.as_os_str().as_bytes()));
    files
}
