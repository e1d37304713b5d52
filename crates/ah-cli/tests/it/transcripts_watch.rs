//! `ah import … --watch`: one process writes transcripts, another brings them in. What the other
//! prints tells when it is done, so that no test waits for a while and hopes.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Home, piped};

const ONE: &str = "10000000-0000-4000-8000-000000000001";
const TWO: &str = "10000000-0000-4000-8000-000000000002";

/// A line of a session of Claude Code.
fn line(session: &str, number: u32) -> String {
    let line = json!({
        "type": "user", "uuid": format!("u{number}"), "parentUuid": null, "sessionId": session,
        "cwd": "/gone", "version": "2.1.325", "timestamp": "2026-11-15T07:28:18.000Z",
        "message": {"role": "user", "content": format!("prompt {number}")},
    });
    format!("{line}\n")
}

fn file(home: &Home, session: &str) -> PathBuf {
    let directory = home.path().join("home/.claude/projects/-gone");
    std::fs::create_dir_all(&directory).unwrap();
    directory.join(format!("{session}.jsonl"))
}

fn append(home: &Home, session: &str, text: &str) {
    let path = file(home, session);
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// A process that follows transcripts.
struct Watcher {
    child: Child,
    reports: BufReader<ChildStdout>,
    talk: BufReader<ChildStderr>,
}

impl Watcher {
    fn start(home: &Home, arguments: &[&str]) -> Self {
        let mut command = home.ah(arguments);
        command.args(["--watch", "--json"]).env("AH_STORE_BUSY_TIMEOUT_MS", "50");
        let mut child = piped(&mut command).spawn().unwrap();
        let reports = BufReader::new(child.stdout.take().unwrap());
        let talk = BufReader::new(child.stderr.take().unwrap());
        let mut watcher = Self { child, reports, talk };
        assert!(watcher.said().starts_with("following "));
        watcher
    }

    /// The next report: how many records of each session are new.
    fn brought(&mut self) -> Vec<(String, u64)> {
        let mut text = String::new();
        self.reports.read_line(&mut text).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let details = report["details"].as_array().unwrap().iter().map(|session| {
            (session["id"].as_str().unwrap().to_owned(), session["records"].as_u64().unwrap())
        });
        details.filter(|(_, records)| *records > 0).collect()
    }

    /// The next line on stderr.
    fn said(&mut self) -> String {
        let mut text = String::new();
        self.talk.read_line(&mut text).unwrap();
        text
    }
}

impl Drop for Watcher {
    /// As `kill -9` ends it.
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// The prompts of a session here.
fn prompts(home: &Home, session: &str) -> Vec<String> {
    let context = home.json(&["session", "context", session]);
    let messages = context["messages"].as_array().unwrap().iter();
    messages.map(|said| said["content"][0]["text"].as_str().unwrap().to_owned()).collect()
}

fn of(session: &str, records: u64) -> Vec<(String, u64)> {
    vec![(session.to_owned(), records)]
}

#[test]
fn lines_come_in_as_they_are_written_and_a_torn_one_when_it_is_whole() {
    let home = Home::new();
    append(&home, ONE, &line(ONE, 1));
    let mut watcher = Watcher::start(&home, &["import", "claude-code"]);
    assert_eq!(watcher.brought(), of(ONE, 1));
    let second = line(ONE, 2);
    let (begun, rest) = second.split_at(40);
    append(&home, ONE, begun);
    // A file that is new is found, and shows that the torn line was seen and left.
    append(&home, TWO, &line(TWO, 3));
    assert_eq!(watcher.brought(), of(TWO, 1));
    let written = Instant::now();
    append(&home, ONE, rest);
    assert_eq!(watcher.brought(), of(ONE, 1));
    assert!(written.elapsed() < Duration::from_secs(5), "{:?}", written.elapsed());
    assert_eq!(prompts(&home, ONE), ["prompt 1", "prompt 2"]);
}

#[test]
fn a_process_that_was_killed_goes_on_without_anything_twice() {
    let home = Home::new();
    let mut watcher = Watcher::start(&home, &["import", "--all"]);
    append(&home, ONE, &line(ONE, 1));
    assert_eq!(watcher.brought(), of(ONE, 1));
    drop(watcher);
    append(&home, ONE, &format!("{}{}", line(ONE, 2), line(ONE, 3)));
    let mut watcher = Watcher::start(&home, &["import", "--all"]);
    assert_eq!(watcher.brought(), of(ONE, 2));
    assert_eq!(prompts(&home, ONE), ["prompt 1", "prompt 2", "prompt 3"]);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn files_that_are_cut_or_vanish_do_not_end_it() {
    let home = Home::new();
    append(&home, ONE, &format!("{}{}", line(ONE, 1), line(ONE, 2)));
    append(&home, TWO, &line(TWO, 5));
    let mut watcher = Watcher::start(&home, &["import", "claude-code"]);
    assert_eq!(watcher.brought().len(), 2);
    std::fs::remove_file(file(&home, TWO)).unwrap();
    // Shorter than what was read: it is read from its start.
    std::fs::write(file(&home, ONE), line(ONE, 7)).unwrap();
    assert_eq!(watcher.brought(), of(ONE, 1));
    append(&home, TWO, &format!("{}{}", line(TWO, 5), line(TWO, 6)));
    assert_eq!(watcher.brought(), of(TWO, 1));
    assert_eq!(prompts(&home, ONE), ["prompt 1", "prompt 2", "prompt 7"]);
    assert_eq!(prompts(&home, TWO), ["prompt 5", "prompt 6"]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "stands for a program that holds the database")]
fn a_store_that_is_busy_is_tried_again() {
    let home = Home::new();
    append(&home, ONE, &line(ONE, 1));
    let mut watcher = Watcher::start(&home, &["import", "claude-code"]);
    assert_eq!(watcher.brought(), of(ONE, 1));
    let holder = Connection::open(home.database()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    append(&home, ONE, &line(ONE, 2));
    assert_eq!(watcher.said(), "the store is busy; trying again\n");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(watcher.brought(), of(ONE, 1));
    assert_eq!(prompts(&home, ONE), ["prompt 1", "prompt 2"]);
}

#[test]
fn a_dry_run_says_what_would_come_and_a_path_that_is_not_there_is_refused() {
    let home = Home::new();
    append(&home, ONE, &line(ONE, 1));
    let mut watcher = Watcher::start(&home, &["import", "claude-code", "--dry-run"]);
    assert_eq!(watcher.brought(), of(ONE, 1));
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
    let output = home.run(&["import", "claude-code", "nowhere", "--watch"]);
    assert_eq!(output.status.code(), Some(1));
}
