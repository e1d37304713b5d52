//! The user's repository, and Git as a program in it.
//!
//! Two kinds of calls. Those on the user's repository only read, or change refs that are ours or were
//! asked for; no hook, monitor or signature runs, no index is refreshed. Those that touch contents go
//! through a repository of our own beside it, which has the user's objects and none of the user's
//! settings or attributes: what is on disk is what is kept, byte for byte.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::SnapshotProvider;
use tempfile::{Builder, TempDir};

use crate::SnapshotError;
use crate::command::{self, Output};
use crate::error::file;

/// What a caller's own environment must not decide: it may itself run in a hook of Git.
const NOT_INHERITED: [&str; 18] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_WORK_TREE",
];

const ENVIRONMENT: [(&str, &str); 6] = [
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
];

const SETTINGS: [&str; 15] = [
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.checkStat=default",
    "core.fileMode=true",
    "core.fsmonitor=false",
    // An acknowledged snapshot survives a power cut; one sync for all new files of a call.
    "core.fsync=objects,reference",
    "core.fsyncMethod=batch",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "core.symlinks=true",
    "core.trustctime=true",
    "core.untrackedCache=false",
    "gc.auto=0",
    "submodule.recurse=false",
];

/// Where our own files are, in the directory of the user's work tree in `.git`.
const OURS: &str = "ah";
/// The tree without files, which Git knows without having it.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// A repository with a work tree.
#[derive(Debug)]
pub(super) struct Repository<'a> {
    program: &'a Path,
    /// The root of the work tree.
    pub(super) top: PathBuf,
    git_dir: PathBuf,
    objects: PathBuf,
    format: String,
}

/// An index that is nobody else's, and goes when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    _directory: TempDir,
    /// The index.
    pub(super) index: PathBuf,
}

impl<'a> Repository<'a> {
    /// The repository around `directory`.
    pub(super) fn open(program: &'a Path, directory: &Path) -> Result<Self, SnapshotError> {
        let asked = [
            "--path-format=absolute",
            "--show-toplevel",
            "--absolute-git-dir",
            "--git-path",
            "objects",
            "--show-object-format",
        ];
        let mut command = base(program, directory, "rev-parse");
        let output = command::try_run(command.args(asked), "rev-parse", None)?;
        let unusable = |reason: String| SnapshotError::Unusable {
            provider: SnapshotProvider::Git,
            directory: directory.to_owned(),
            reason,
        };
        if !output.status.success() {
            return Err(unusable(output.reason()));
        }
        let lines: Vec<&[u8]> = output.text.split(|byte| *byte == b'\n').collect();
        let path = |line: &[u8]| PathBuf::from(OsString::from_vec(line.to_vec()));
        match lines.as_slice() {
            [top, git_dir, objects, format, b""] => Ok(Self {
                program,
                top: path(top),
                git_dir: path(git_dir),
                objects: path(objects),
                format: String::from_utf8_lossy(format).into_owned(),
            }),
            _ => Err(unusable("a path of the repository has a line end in it".to_owned())),
        }
    }

    /// Our own directory, made where there is none.
    pub(super) fn ours(&self) -> Result<PathBuf, SnapshotError> {
        let path = self.git_dir.join(OURS);
        fs::create_dir_all(&path).map_err(file("make", &path))?;
        Ok(path)
    }

    /// An index of its own. What a killed call left of an older one is removed some day.
    pub(super) fn scratch(&self) -> Result<Scratch, SnapshotError> {
        let ours = self.ours()?;
        let directory = Builder::new().prefix(".scratch-").tempdir_in(&ours);
        let directory = directory.map_err(file("make a directory in", &ours))?;
        sweep(&ours, directory.path());
        Ok(Scratch { index: directory.path().join("index"), _directory: directory })
    }

    /// A call on the user's repository.
    pub(super) fn call(&self, args: &[&str]) -> Call {
        let call = self.call_in(&self.top, args);
        call.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top)
    }

    /// A call as the user would make it in `directory`, which says itself what repository it is of.
    pub(super) fn call_in(&self, directory: &Path, args: &[&str]) -> Call {
        let (name, rest) = args.split_first().map_or(("", args), |(name, rest)| (*name, rest));
        let mut command = base(self.program, directory, name);
        command.args(rest);
        Call { command, name: name.to_owned(), input: None }
    }

    /// A call on contents: the user's objects, `tree` as work tree, no settings, no attributes.
    pub(super) fn plain(&self, tree: &Path, args: &[&str]) -> Result<Call, SnapshotError> {
        let empty = if self.format == "sha256" { EMPTY_TREE_SHA256 } else { EMPTY_TREE };
        let call = self.call_in(tree, args);
        let call = call.env("GIT_DIR", self.plain_directory()?).env("GIT_WORK_TREE", tree);
        let call = call.env("GIT_OBJECT_DIRECTORY", &self.objects).env("GIT_ATTR_SOURCE", empty);
        Ok(call.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1"))
    }

    /// The repository without settings.
    fn plain_directory(&self) -> Result<PathBuf, SnapshotError> {
        let path = self.ours()?.join("plain");
        let head = path.join("HEAD");
        if head.is_file() {
            return Ok(path);
        }
        let refs = path.join("refs");
        fs::create_dir_all(&refs).map_err(file("make", &refs))?;
        let config = match self.format.as_str() {
            "sha1" => "[core]\n\trepositoryformatversion = 0\n".to_owned(),
            format => format!(
                "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = {format}\n"
            ),
        };
        // The head comes last: with it the rest is there.
        for (name, text) in [("config", config.as_str()), ("HEAD", "ref: refs/heads/none\n")] {
            put(&path, name, text).map_err(file("write", &path.join(name)))?;
        }
        Ok(path)
    }
}

fn put(directory: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let mut written = tempfile::NamedTempFile::new_in(directory)?;
    std::io::Write::write_all(&mut written, text.as_bytes())?;
    written.persist(directory.join(name)).map(drop).map_err(|error| error.error)
}

/// Removes scratch directories that are a day older than `newest`.
fn sweep(ours: &Path, newest: &Path) {
    const AGE: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);
    let made = |path: &Path| fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
    let Some(limit) = made(newest).and_then(|time| time.checked_sub(AGE)) else { return };
    for entry in fs::read_dir(ours).into_iter().flatten().flatten() {
        let is_scratch = entry.file_name().to_string_lossy().starts_with(".scratch-");
        if is_scratch && made(&entry.path()).is_some_and(|time| time < limit) {
            // Whoever else removes it at the same time does as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A call of Git.
#[derive(Debug)]
pub(super) struct Call {
    command: Command,
    name: String,
    input: Option<Vec<u8>>,
}

impl Call {
    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = Some(input);
        self
    }

    /// Runs it; not to succeed is an error.
    pub(super) fn run(mut self) -> Result<Output, SnapshotError> {
        command::run(&mut self.command, &self.name, self.input)
    }

    /// Runs it; not to succeed is an answer.
    pub(super) fn try_run(mut self) -> Result<Output, SnapshotError> {
        command::try_run(&mut self.command, &self.name, self.input)
    }
}

fn base(program: &Path, directory: &Path, name: &str) -> Command {
    let mut command = Command::new(program);
    for variable in NOT_INHERITED {
        command.env_remove(variable);
    }
    command.envs(ENVIRONMENT).current_dir(directory);
    command.arg("--no-pager").arg("--literal-pathspecs");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.arg(name);
    command
}
