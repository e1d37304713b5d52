//! `ah approval`, and what destroy, revive and purge make of agents.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Home, succeeded};

fn hive() -> Home {
    let home = Home::new();
    home.create_agent("alice");
    home
}

fn request(home: &Home, more: &[&str]) -> Value {
    home.json(&[&["approval", "request", "--agent", "alice"][..], more].concat())
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

/// What git says in a repository.
fn git(home: &Home, directory: &Path, arguments: &[&str]) -> String {
    let mut command = home.clean("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"]).arg(directory);
    let output = Command::output(command.args(arguments)).unwrap();
    succeeded(&output, arguments).trim().to_owned()
}

/// Writes a file in the agent's configuration and commits it; the commit's hash.
pub(crate) fn commit(home: &Home, text: &str) -> String {
    let config = home.state().join("agents/alice/config");
    std::fs::write(config.join("agent.toml"), text).unwrap();
    git(home, &config, &["add", "."]);
    git(home, &config, &["commit", "-qm", text]);
    git(home, &config, &["rev-parse", "HEAD"])
}

/// The commit in force.
pub(crate) fn applied(home: &Home) -> String {
    git(home, &home.state().join("applied/alice"), &["rev-parse", "HEAD"])
}

#[test]
fn an_approval_is_decided_once() {
    let home = hive();
    let asked = request(&home, &["--kind", "deploy", "--reason", "the tests pass"]);
    let denied = home.json(&["approval", "deny", id(&asked), "--note", "not on a Friday"]);
    assert_eq!((&denied["status"], &denied["note"]), (&"denied".into(), &"not on a Friday".into()));
    assert_eq!(
        home.json(&["approval", "deny", id(&asked), "--note", "again"])["note"],
        "not on a Friday"
    );
    let output = home.run(&["approval", "approve", id(&asked)]);
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is already denied by operator"), "{said}");
    let told = home.json(&["message", "recv", "alice"]);
    assert_eq!((&told["kind"], &told["about"]), (&"decision".into(), &asked["id"]));
    assert_eq!(
        home.json(&["approval", "list", "--status", "pending"])["items"],
        serde_json::json!([])
    );
}

#[test]
fn who_waits_is_told_of_the_decision() {
    let home = hive();
    let ask = ["approval", "request", "--agent", "alice", "--kind", "deploy", "--wait", "--json"];
    for (verb, exit) in [("approve", 0), ("deny", 4)] {
        let waiting = home.spawn(&ask);
        let pending = loop {
            let pending = home.json(&["approval", "list", "--status", "pending"]);
            if let Some(id) = pending["items"][0]["id"].as_str() {
                break id.to_owned();
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        home.json(&["approval", verb, &pending, "--note", "so"]);
        let output = waiting.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
    }
}

#[test]
fn exactly_the_pinned_commit_is_applied_whatever_the_agent_does_since() {
    let home = hive();
    let asked_for = commit(&home, "one");
    let asked = request(&home, &["--kind", "apply_commit"]);
    assert_eq!(
        (&asked["commit"], &asked["commitRef"]),
        (&asked_for.as_str().into(), &"HEAD".into())
    );
    let config = home.state().join("agents/alice/config");
    std::fs::write(config.join("agent.toml"), "evil").unwrap();
    git(&home, &config, &["commit", "-qam", "evil", "--amend"]);
    git(&home, &config, &["reflog", "expire", "--expire=now", "--all"]);
    git(&home, &config, &["gc", "-q", "--prune=now"]);
    let approved = home.json(&["approval", "approve", id(&asked)]);
    assert_eq!(approved["status"], "approved");
    assert_ne!(approved["carriedOutAt"], Value::Null);
    assert_eq!(applied(&home), asked_for);
    let tags = git(&home, &home.state().join("applied/alice"), &["tag", "--points-at", &asked_for]);
    assert!(tags.contains(&format!("deployed/{}", id(&asked))), "{tags}");
}

#[test]
fn a_commit_that_is_no_step_forward_fails_and_changes_nothing() {
    let home = hive();
    commit(&home, "one");
    let first = request(&home, &["--kind", "apply_commit"]);
    home.json(&["approval", "approve", id(&first)]);
    let before = applied(&home);
    let config = home.state().join("agents/alice/config");
    git(&home, &config, &["checkout", "-q", "--orphan", "other"]);
    commit(&home, "rewritten");
    let second = request(&home, &["--kind", "apply_commit"]);
    let output = home.run(&["approval", "approve", id(&second), "--json"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["status"], "failed");
    assert_eq!(applied(&home), before);
}

#[test]
fn a_destroyed_agent_is_kept_and_revived_with_what_it_left() {
    let home = hive();
    home.json(&["agent", "model", "alice", "opus"]);
    let pending = request(&home, &["--kind", "deploy"]);
    std::fs::write(home.state().join("agents/alice/state/notes"), "remember").unwrap();
    let destroyed = home.json(&["agent", "destroy", "alice"]);
    assert_ne!(destroyed["destroyedAt"], Value::Null);
    let failed = home.json(&["approval", "show", id(&pending)]);
    assert_eq!(failed["status"], "failed");
    assert_eq!(home.json(&["agent", "list", "--kept"])["items"][0]["name"], "alice");
    assert_eq!(home.run(&["message", "send", "alice", "hi"]).status.code(), Some(4));
    assert_eq!(home.run(&["agent", "create", "Alice", "--kind", "tester"]).status.code(), Some(4));
    let approval = home.json(&["agent", "revive", "alice"]);
    assert_eq!(approval["kind"], "spawn");
    assert_eq!(home.json(&["agent", "revive", "alice"])["id"], approval["id"]);
    home.json(&["approval", "approve", id(&approval)]);
    let alice = home.json(&["agent", "show", "alice"]);
    assert_eq!((&alice["lifecycle"], &alice["destroyedAt"]), (&"active".into(), &Value::Null));
    assert_eq!(home.json(&["agent", "model", "alice"])["model"], "opus");
    let notes = std::fs::read_to_string(home.state().join("agents/alice/state/notes"));
    assert_eq!(notes.unwrap(), "remember");
    home.json(&["message", "send", "alice", "welcome back"]);
}

#[test]
fn a_purge_needs_a_word_and_leaves_a_receipt_and_nothing_else() {
    let home = hive();
    home.json(&["message", "send", "alice", "hi"]);
    let output = home.run(&["agent", "purge", "alice"]);
    assert_eq!(output.status.code(), Some(10), "{output:?}");
    assert!(home.state().join("agents/alice").exists());
    let receipt = home.json(&["agent", "purge", "alice", "--yes"]);
    assert_eq!((&receipt["kind"], &receipt["subject"]), (&"purge".into(), &"alice".into()));
    assert_ne!(receipt["finishedAt"], Value::Null);
    for class in ["messages", "sessions", "agents", "files"] {
        assert!(
            receipt["removed"][class]["rows"].as_u64().is_some_and(|rows| rows > 0),
            "{receipt}"
        );
    }
    for left in ["agents/alice", "applied/alice"] {
        assert!(!home.state().join(left).exists(), "{left}");
    }
    assert_eq!(home.run(&["agent", "show", "alice"]).status.code(), Some(3));
    assert_eq!(home.json(&["retention", "receipts"])["items"][0]["id"], receipt["id"]);
    home.create_agent("alice");
}

#[test]
fn a_protected_agent_refuses() {
    let home = Home::new();
    home.json(&["agent", "create", "manager", "--kind", "tester", "--protected"]);
    for arguments in [&["agent", "destroy", "manager"][..], &["agent", "purge", "manager", "--yes"]]
    {
        let output = home.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(said.contains("is protected") && said.contains("--protected false"), "{said}");
    }
    assert!(home.state().join("agents/manager").exists());
    home.json(&["agent", "update", "manager", "--protected", "false"]);
    home.json(&["agent", "destroy", "manager"]);
}

#[test]
fn the_model_is_one_line_in_the_home() {
    let home = hive();
    assert_eq!(home.json(&["agent", "model", "alice"])["model"], Value::Null);
    home.json(&["agent", "model", "alice", "sonnet"]);
    let file = home.state().join("agents/alice/state/model");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "sonnet\n");
    std::fs::write(&file, "haiku\n").unwrap();
    assert_eq!(home.json(&["agent", "model", "alice"])["model"], "haiku");
    home.json(&["agent", "model", "alice", "--unset"]);
    assert!(!file.exists());
}

#[cfg(unix)]
#[test]
fn homes_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = hive();
    for name in [
        "agents",
        "agents/alice",
        "agents/alice/config",
        "agents/alice/claude",
        "agents/alice/state",
        "applied",
        "applied/alice",
    ] {
        let mode = std::fs::metadata(home.state().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{name}");
    }
}

#[test]
fn retention_shows_before_it_removes_and_gives_a_receipt() {
    let home = hive();
    home.json(&["message", "send", "alice", "old"]);
    home.json(&["message", "recv", "alice"]);
    let got = home.json(&["message", "list"])["items"][0]["id"].as_str().unwrap().to_owned();
    home.json(&["message", "ack", &got]);
    home.json(&["message", "send", "alice", "undelivered"]);
    home.json(&["config", "set", "retention.messages", "0s"]);
    let plan = home.json(&["retention", "plan"]);
    assert_eq!(plan["remove"]["messages"]["rows"], 1, "{plan}");
    assert_eq!(home.json(&["message", "list"])["items"].as_array().unwrap().len(), 2);
    let done = home.json(&["retention", "run"]);
    assert_eq!(done["receipt"]["removed"]["messages"]["rows"], 1, "{done}");
    let left = home.json(&["message", "list"]);
    assert_eq!(left["items"][0]["body"], "undelivered");
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
}
