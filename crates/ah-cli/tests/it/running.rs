//! `ah task create --run` and `--detach`: programs of agent kinds, here shell scripts, under a lease.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::answers::errors;
use crate::resident::{eventually, signal};
use crate::support::{Home, piped, succeeded};

/// A repository to work in, and agent kinds whose programs are these shell scripts: for a prompt and
/// to go on.
pub(crate) fn with_kinds(kinds: &[(&str, &str, &str)]) -> Home {
    let home = Home::new();
    std::fs::create_dir_all(home.state()).unwrap();
    let table = |(name, command, resume): &(&str, &str, &str)| {
        let command = json!(["sh", "-c", command, "sh", "{external}"]);
        let resume = json!(["sh", "-c", resume, "sh", "{external}"]);
        format!("[[agent-kind]]\nname = {name:?}\ncommand = {command}\nresume = {resume}\n")
    };
    let config: String = kinds.iter().map(table).collect();
    std::fs::write(home.state().join("config.toml"), config).unwrap();
    git(&home, &["init", "--quiet", "--initial-branch", "main"]);
    home
}

#[track_caller]
pub(crate) fn git(home: &Home, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(words);
    let done = command.current_dir(home.work()).output().unwrap();
    succeeded(&done, words)
}

pub(crate) fn session_of(home: &Home) -> Value {
    home.json(&["session", "list"])["items"][0].clone()
}

pub(crate) fn events(home: &Home, session: &Value) -> Vec<Value> {
    let id = session["id"].as_str().unwrap();
    home.json(&["session", "events", id])["items"].as_array().unwrap().clone()
}

pub(crate) fn types(home: &Home, session: &Value) -> Vec<String> {
    events(home, session).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

/// A run that was started with `--detach`.
pub(crate) fn detached(home: &Home, kind: &str) -> Value {
    let words = ["task", "create", "--prompt", "do it", "--agent", kind, "--detach"];
    let batch = home.json(&words);
    json!({ "session": batch["sessionIds"][0], "run": batch["runIds"][0] })
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

pub(crate) fn run_file(home: &Home, run: &str, file: &str) -> PathBuf {
    home.state().join("runs").join(run).join(file)
}

/// A program that starts another and waits for it, at work: its session, its run, and the other's
/// process.
pub(crate) fn with_a_child(home: &Home) -> (String, String, u32) {
    let task = detached(home, "shell");
    let (id, run) = (text(&task, "session").to_owned(), text(&task, "run").to_owned());
    let log = run_file(home, &run, "log");
    let child: u32 = eventually(|| std::fs::read_to_string(&log).ok()?.trim().parse().ok());
    assert!(lives(child));
    (id, run, child)
}

pub(crate) const STARTS_A_CHILD: &str = "sleep 1000 & echo $!; wait";

/// Whether a process is there and has not ended.
pub(crate) fn lives(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

const RUN: [&str; 6] = ["task", "create", "--prompt", "say hello", "--agent", "shell"];

#[test]
fn a_task_runs_in_the_foreground_and_its_words_are_kept() {
    let script = "cat; echo; echo of $AH_TASK_ID $AH_SESSION_ID $AH_RUN_ID; echo oops >&2; pwd";
    let home = with_kinds(&[("shell", script, "false")]);
    let done = home.run(&[&RUN[..], &["--run"]].concat());
    let said = succeeded(&done, "run");
    let session = session_of(&home);
    let runs = home.json(&["run", "list"])["items"].clone();
    let (id, run) = (text(&session, "id"), text(&runs[0], "id"));
    let work = home.work();
    let expected = format!("say hello\nof 1 {id} {run}\n{}\n", work.display());
    assert_eq!(said, expected);
    assert!(errors(&done).contains("oops"), "{}", errors(&done));
    assert_eq!((&session["status"], &session["exit"]["code"]), (&json!("succeeded"), &json!(0)));
    let mut kinds = types(&home, &session);
    kinds.sort();
    kinds.dedup();
    assert_eq!(
        kinds,
        ["assistant_message", "hostExited", "hostLog", "hostStarted", "user_message"]
    );
    let context = home.json(&["session", "context", id]);
    assert_eq!(context["messages"][0]["content"][0]["text"], "say hello");
    assert_eq!(context["messages"][1]["content"][0]["text"], expected.trim());
    let log = std::fs::read_to_string(run_file(&home, run, "log")).unwrap();
    assert_eq!(log.len(), expected.len() + "oops\n".len());
    assert!(!home.state().join("runs/active").join(run).exists(), "nothing is left to look at");
}

#[test]
fn a_program_that_fails_fails_the_command_and_says_why() {
    let home = with_kinds(&[("shell", "echo it broke >&2; exit 3", "false")]);
    let done = home.run(&[&RUN[..], &["--run"]].concat());
    assert_eq!(done.status.code(), Some(1));
    let said = errors(&done);
    assert!(said.contains("failed: exit code 3: it broke"), "{said}");
    assert!(said.contains("hint: `ah session logs "), "{said}");
    let session = session_of(&home);
    assert_eq!((&session["status"], &session["exit"]["code"]), (&json!("failed"), &json!(3)));
}

#[test]
fn a_program_that_is_killed_is_known_by_its_signal() {
    let home = with_kinds(&[("shell", "kill -9 $$", "false")]);
    let done = home.run(&[&RUN[..], &["--run", "--json"]].concat());
    assert_eq!(done.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(answer["runs"][0]["status"], "failed");
    let session = session_of(&home);
    assert_eq!((&session["exit"]["code"], &session["exit"]["signal"]), (&Value::Null, &json!(9)));
}

#[test]
fn ctrl_c_asks_the_program_to_end_and_kills_it_the_second_time() {
    let script = "trap 'echo asked' TERM; echo up; while :; do sleep 0.05; done";
    let home = with_kinds(&[("shell", script, "false")]);
    let mut child = piped(&mut home.ah(&[&RUN[..], &["--run"]].concat())).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "up");
    signal("-INT", child.id());
    assert_eq!(lines.next().unwrap().unwrap(), "asked");
    signal("-INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let session = session_of(&home);
    assert_eq!((&session["status"], &session["exit"]["signal"]), (&json!("cancelled"), &json!(9)));
}

#[test]
fn a_kind_without_a_program_records_nothing() {
    let home = with_kinds(&[]);
    let task = ["task", "create", "--prompt", "x", "--run", "--agent"];
    for (kind, says) in [
        ("nobody", "no program is known for the agent kind nobody"),
        ("goose", "the program of goose, goose, is not on this machine"),
    ] {
        let mut command = home.ah(&[&task[..], &[kind]].concat());
        let done = command.env("PATH", "/nonexistent").output().unwrap();
        assert_eq!(done.status.code(), Some(7), "{}", errors(&done));
        assert!(errors(&done).contains(says), "{}", errors(&done));
    }
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
}

#[test]
fn the_scripted_kind_needs_no_model_and_no_configuration() {
    let home = with_kinds(&[]);
    let prompt = "one\nsleep 1\ntwo";
    let words = ["task", "create", "--prompt", prompt, "--agent", "scripted", "--run"];
    assert_eq!(succeeded(&home.run(&words), "run"), "one\ntwo\n");
}

#[test]
fn a_detached_task_goes_on_alone_and_its_log_is_followed_to_the_end() {
    let script = "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two";
    let home = with_kinds(&[("shell", script, "false")]);
    let task = detached(&home, "shell");
    let id = text(&task, "session");
    assert_eq!(home.json(&["session", "show", id])["status"], "running");
    let mut follow = piped(&mut home.ah(&["session", "logs", id, "--follow"])).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "one");
    std::fs::write(home.work().join("go"), "").unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "two");
    assert!(lines.next().is_none());
    assert!(follow.wait().unwrap().success());
    assert_eq!(home.json(&["session", "show", id])["status"], "succeeded");
    let raw = succeeded(&home.run(&["session", "logs", id, "--raw"]), "logs");
    assert_eq!(raw, "one\ntwo\n");
}

#[test]
fn a_detached_task_is_stopped_with_all_that_it_started() {
    let home = with_kinds(&[("shell", STARTS_A_CHILD, "false")]);
    let (id, run, child) = with_a_child(&home);
    let stopped = home.json(&["session", "stop", &id]);
    assert_eq!((&stopped["status"], &stopped["exit"]["signal"]), (&json!("cancelled"), &json!(15)));
    eventually(|| (!lives(child)).then_some(()));
    assert_eq!(home.json(&["run", "show", &run])["status"], "stopped");
}
