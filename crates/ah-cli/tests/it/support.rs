//! A place of its own for each test, and the program run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary directory with a state directory, a home and a working directory of its own.
pub(crate) struct Home {
    /// Without symbolic links, as the operating system names it.
    path: PathBuf,
    _directory: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        for name in ["home", "work"] {
            std::fs::create_dir(path.join(name)).unwrap();
        }
        Self { path, _directory: directory }
    }

    /// The whole temporary directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What `AH_HOME` names; made by the program itself.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Where commands run: an empty directory, no repository.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.state().join("state.db")
    }

    /// The program with these arguments, stdin closed, in an environment that sets nothing else.
    pub(crate) fn ah(&self, arguments: &[&str]) -> Command {
        let mut command = self.clean(env!("CARGO_BIN_EXE_ah"));
        command.args(arguments);
        command
    }

    /// Any program in the environment of [`Self::ah`].
    pub(crate) fn clean(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let is_ours = |name: &str| name.starts_with("AH_") || name.starts_with("XDG_");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_ours) {
                command.env_remove(name);
            }
        }
        command
            .env("AH_HOME", self.state())
            .env("HOME", self.path().join("home"))
            .env("AH_SYSTEM_CONFIG", self.path().join("no-system-config.toml"))
            .env("NO_COLOR", "1")
            .current_dir(self.work())
            .stdin(Stdio::null());
        command
    }

    /// Runs to the end, whatever the exit code.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.ah(arguments).output().unwrap()
    }

    /// Runs with `--json`, expects success, and parses the answer.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.ah(arguments).arg("--json").output().unwrap();
        parse(&succeeded(&output, arguments))
    }

    /// Starts the program with all three streams piped.
    #[track_caller]
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        piped(&mut self.ah(arguments)).spawn().unwrap()
    }

    /// Makes a session of this id.
    #[track_caller]
    pub(crate) fn create_session(&self, id: &str) {
        self.json(&["session", "create", "--agent", "tester", "--id", id]);
    }

    /// Makes an agent of this name; what the program answers.
    #[track_caller]
    pub(crate) fn create_agent(&self, name: &str) -> Value {
        self.json(&["agent", "create", name, "--kind", "tester"])
    }

    /// The id of the session an agent goes on in.
    #[track_caller]
    pub(crate) fn active_session(&self, name: &str) -> String {
        let agent = self.json(&["agent", "show", name]);
        agent["activeSessionId"].as_str().unwrap().to_owned()
    }
}

/// Gives a command three pipes.
pub(crate) fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped())
}

/// The standard output of a command that must have succeeded.
#[track_caller]
pub(crate) fn succeeded(output: &Output, what: impl std::fmt::Debug) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what:?} ended with {}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in: {text}"))
}
