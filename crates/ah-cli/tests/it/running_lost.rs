//! Workers that are killed: nothing that was acknowledged is lost, no program goes on unwatched, and
//! the session says what happened.

use serde_json::{Value, json};

use crate::resident::{eventually, signal};
use crate::running::{
    STARTS_A_CHILD, detached, events, lives, run_file, text, types, with_a_child, with_kinds,
};
use crate::support::{Home, piped};

fn worker(home: &Home, run: &str) -> u32 {
    let file = run_file(home, run, "worker");
    eventually(|| std::fs::read_to_string(&file).ok()?.trim().parse().ok())
}

fn hosted(home: &Home, session: &Value) -> Vec<String> {
    let log = events(home, session);
    let texts = log.iter().filter(|event| event["type"] == "hostLog");
    texts.map(|event| event["data"]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_worker_that_is_killed_loses_no_line_and_leaves_no_program() {
    let script = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.01; done";
    let home = with_kinds(&[("shell", script, "false")]);
    // Killed at several moments: what the log holds is all in the store afterwards, once.
    for lines in [1, 7, 60] {
        let task = detached(&home, "shell");
        let (id, run) = (text(&task, "session"), text(&task, "run"));
        let log = run_file(&home, run, "log");
        let written = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        eventually(|| (written() >= lines).then_some(()));
        let born = std::fs::read_to_string(run_file(&home, run, "program")).unwrap();
        let born: Value = serde_json::from_str(&born).unwrap();
        let program = u32::try_from(born["id"].as_u64().unwrap()).unwrap();
        let acknowledged = hosted(&home, &json!({ "id": id }));
        signal("-KILL", worker(&home, run));
        let shown = eventually(|| {
            let shown = home.json(&["session", "show", id]);
            (shown["status"] != "running").then_some(shown)
        });
        assert_eq!(shown["status"], "failed");
        assert_eq!(shown["exit"]["reason"], "lost: its worker was killed");
        assert!(!lives(program));
        let told = hosted(&home, &shown);
        let count = written();
        let expected: Vec<String> = (1..=count).map(|number| format!("line {number}")).collect();
        assert_eq!(told, expected);
        assert!(told.starts_with(&acknowledged));
        assert_eq!(types(&home, &shown).last().unwrap(), "hostExited");
    }
}

#[test]
fn what_a_program_started_is_ended_when_its_worker_was_killed() {
    let home = with_kinds(&[("shell", STARTS_A_CHILD, "false")]);
    let (id, run, child) = with_a_child(&home);
    signal("-KILL", worker(&home, &run));
    eventually(|| (home.json(&["session", "show", &id])["status"] == "failed").then_some(()));
    assert!(!lives(child), "whoever looked first ended it");
    let exited = events(&home, &json!({ "id": id })).pop().unwrap();
    let ended = exited["data"]["endedProcesses"].as_array().unwrap().clone();
    assert!(ended.contains(&json!(child)), "{exited}");
}

#[test]
fn a_foreground_run_that_is_killed_ends_its_program_with_it() {
    let home = with_kinds(&[("shell", "echo $$; exec sleep 1000", "false")]);
    let words = ["task", "create", "--prompt", "x", "--agent", "shell", "--run"];
    let mut child = piped(&mut home.ah(&words)).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(
        &mut std::io::BufReader::new(child.stdout.take().unwrap()),
        &mut line,
    )
    .unwrap();
    let program: u32 = line.trim().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(|| (!lives(program)).then_some(()));
    let session = home.json(&["session", "list"])["items"][0].clone();
    assert_eq!(session["status"], "failed", "whoever lists first finds it");
}

#[test]
fn a_worker_that_died_after_its_program_reports_the_true_end() {
    let home = with_kinds(&[("shell", "echo one; exit 4", "false")]);
    let task = detached(&home, "shell");
    let (id, run) = (text(&task, "session"), text(&task, "run"));
    eventually(|| (home.json(&["session", "show", id])["status"] == "failed").then_some(()));
    // Told again by whoever finds it open: the same, once.
    std::fs::write(home.state().join("runs/active").join(run), "").unwrap();
    let before = events(&home, &json!({ "id": id }));
    let shown = home.json(&["session", "show", id]);
    assert_eq!((&shown["status"], &shown["exit"]["code"]), (&json!("failed"), &json!(4)));
    assert_eq!(events(&home, &shown), before);
    assert!(!home.state().join("runs/active").join(run).exists());
}
