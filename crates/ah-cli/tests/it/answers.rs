//! What a command answered, so that tests compare whole values: exit code, both streams, and JSON
//! whose ids, times and directories differ from run to run.

use std::io::Write;
use std::path::Path;
use std::process::Output;

use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Home, piped, succeeded};

impl Home {
    /// Runs for people and expects success; the standard output.
    #[track_caller]
    pub(crate) fn human(&self, arguments: &[&str]) -> String {
        succeeded(&self.run(arguments), arguments)
    }

    /// Runs with this standard input.
    #[track_caller]
    pub(crate) fn feed(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self.spawn(arguments);
        // A command that refuses its arguments does not read on.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// Runs for people and expects this exit code and an empty stdout; what is said on stderr.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(shape(&output), (Some(code), ""), "{arguments:?}: {}", errors(&output));
        self.steady_text(&errors(&output))
    }

    /// Runs with `--json` and expects this exit code, an empty stdout and one problem on stderr.
    #[track_caller]
    pub(crate) fn problem(&self, arguments: &[&str], code: i32) -> Value {
        let output = self.ah(arguments).arg("--json").output().unwrap();
        assert_eq!(shape(&output), (Some(code), ""), "{arguments:?}: {}", errors(&output));
        self.steady(serde_json::from_slice(&output.stderr).unwrap())
    }

    /// The `detail` of [`Self::problem`].
    #[track_caller]
    pub(crate) fn detail(&self, arguments: &[&str], code: i32) -> String {
        self.problem(arguments, code)["detail"].as_str().unwrap().to_owned()
    }

    /// `value` with `ID` for ids we mint, `TIME` for times, `DIR` for the temporary directory and
    /// `HOST` for the machine.
    pub(crate) fn steady(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.steady_text(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.steady(item)).collect(),
            Value::Object(fields) => {
                let steady = |(name, value)| match name == "hostname" {
                    true => (name, Value::from("HOST")),
                    false => (name, self.steady(value)),
                };
                fields.into_iter().map(steady).collect()
            }
            other => other,
        }
    }

    /// As [`Self::steady`], word by word.
    pub(crate) fn steady_text(&self, text: &str) -> String {
        let text = text.replace(self.path().to_str().unwrap(), "DIR");
        let steady = |word: &str| match word {
            _ if is_id(word) => "ID".to_owned(),
            _ if is_time(word) => "TIME".to_owned(),
            _ => word.to_owned(),
        };
        text.split_inclusive([' ', '\n', '/'])
            .map(|part| {
                let word = part.trim_end_matches([' ', '\n', '/']);
                format!("{}{}", steady(word), &part[word.len()..])
            })
            .collect()
    }

    /// Runs `ah` on a terminal of its own where `typed` is typed; what the terminal shows.
    #[track_caller]
    pub(crate) fn on_terminal(
        &self,
        arguments: &str,
        variables: &[(&str, &str)],
        typed: &str,
    ) -> String {
        let mut command = self.clean("script");
        let program = env!("CARGO_BIN_EXE_ah");
        command.env_remove("NO_COLOR").env("TERM", "xterm").env("SHELL", "/bin/sh");
        command.args(["-qec", &format!("{program} {arguments}"), "/dev/null"]);
        let mut child = piped(command.envs(variables.iter().copied())).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// The working directory becomes a Git repository with a remote.
    pub(crate) fn with_git(self) -> Self {
        git(&self.work(), "[remote \"origin\"]\n\turl = https://example.com/a.git\n");
        self
    }

    /// The database itself, as another program opens it; foreign keys are not enforced.
    pub(crate) fn connect(&self) -> Connection {
        connect(&self.database())
    }

    /// Changes the database behind the program's back.
    #[track_caller]
    pub(crate) fn damage(&self, sql: &str) {
        let connection = self.connect();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        connection.execute_batch(sql).unwrap();
    }

    /// A session with `count` events of type `note`, whose payloads count from 1.
    #[track_caller]
    pub(crate) fn session_with_events(&self, id: &str, count: u64) {
        self.create_session(id);
        let line = |n| format!("{{\"type\":\"note\",\"data\":{n}}}\n");
        let lines: String = (1..=count).map(line).collect();
        let output = self.feed(&["session", "append", id, "--stdin-jsonl"], lines.as_bytes());
        succeeded(&output, id);
    }
}

/// Makes what a Git repository is known by.
pub(crate) fn git(root: &Path, config: &str) {
    std::fs::create_dir_all(root.join(".git")).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(root.join(".git/config"), config).unwrap();
}

/// Opens a database as another program does.
pub(crate) fn connect(path: &Path) -> Connection {
    #[expect(clippy::disallowed_methods, reason = "stands for another program")]
    Connection::open(path).unwrap()
}

pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Exit code and stdout.
pub(crate) fn shape(output: &Output) -> (Option<i32>, &str) {
    (output.status.code(), std::str::from_utf8(&output.stdout).unwrap())
}

fn is_id(word: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    let fits = |(at, byte): (usize, u8)| match dashes.contains(&at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    word.len() == 36 && word.bytes().enumerate().all(fits)
}

fn is_time(word: &str) -> bool {
    word.len() == 24 && word.ends_with('Z') && word.as_bytes()[10] == b'T'
}
