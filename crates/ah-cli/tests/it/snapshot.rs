//! `ah snapshot`: states of the files of a session, and sessions that go on from one.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::remote::Server;
use crate::support::{Home, succeeded};

const SESSION: &str = "ses_0123456789ab";

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=u", "-c", "user.email=u@example.org"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    succeeded(&output, arguments)
}

/// A repository with a commit, a change, and a session that works there.
fn at_work() -> Home {
    let home = Home::new();
    git(&home.work(), &["init", "--quiet", "--initial-branch=main"]);
    fs::write(home.work().join("a.txt"), "one\n").unwrap();
    fs::write(home.work().join(".gitignore"), "*.log\n").unwrap();
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "--quiet", "-m", "first"]);
    home.create_session(SESSION);
    fs::write(home.work().join("a.txt"), "two\n").unwrap();
    fs::write(home.work().join("new.txt"), "new\n").unwrap();
    home
}

fn states(home: &Home, arguments: &[&str]) -> Vec<(u64, String, Value)> {
    let list = home.json(&[&["snapshot", "list"], arguments].concat());
    let items = list["items"].as_array().unwrap();
    let state = |item: &Value| item["state"].as_str().unwrap().to_owned();
    items
        .iter()
        .map(|item| (item["number"].as_u64().unwrap(), state(item), item["seq"].clone()))
        .collect()
}

fn listed(number: u64, state: &str, seq: u64) -> (u64, String, Value) {
    (number, state.to_owned(), json!(seq))
}

#[test]
fn a_snapshot_is_taken_recorded_and_listed_as_its_provider_has_it() {
    let home = at_work();
    let taken =
        home.json(&["snapshot", "create", "--message", "before the change", "--label", "step=1"]);
    let id = git(&home.work(), &["rev-parse", "refs/ah/sessions/ses_0123456789ab/1"]);
    let head = git(&home.work(), &["rev-parse", "HEAD"]);
    let directory = home.work().to_string_lossy().into_owned();
    let snapshot = json!({
        "id": id.trim(), "sessionId": SESSION, "number": 1, "provider": "git",
        "reference": "refs/ah/sessions/ses_0123456789ab/1", "directory": directory,
        "createdAt": taken["createdAt"], "base": head.trim(), "message": "before the change",
        "labels": {"step": "1"},
    });
    let mut expected = snapshot.clone();
    expected["state"] = json!("recorded");
    expected["seq"] = json!(1);
    assert_eq!(taken, expected);
    assert_eq!(home.json(&["snapshot", "list"]), json!({"items": [expected], "nextCursor": null}));
    let events = home.json(&["session", "events", SESSION]);
    assert_eq!(events["items"][0]["type"], "snapshot");
    assert_eq!(events["items"][0]["data"], snapshot);
    // The same files again are another snapshot: somebody asked for it.
    let human = home.run(&["snapshot", "create", SESSION]);
    assert!(succeeded(&human, "create").starts_with("2 "));
    let both = [listed(1, "recorded", 1), listed(2, "recorded", 2)];
    assert_eq!(states(&home, &[SESSION]), both);
    assert_eq!(states(&home, &["--all"]), both);
}

#[test]
fn what_a_crash_left_unrecorded_is_shown_and_recorded() {
    let home = at_work();
    home.json(&["snapshot", "create"]);
    // As after a crash between the snapshot and its event: the log knows nothing of it.
    succeeded(&home.run(&["session", "delete", SESSION, "--yes"]), "delete");
    home.create_session(SESSION);
    let unrecorded = (1, "unrecorded".to_owned(), Value::Null);
    assert_eq!(states(&home, &[]), [unrecorded]);
    assert_eq!(states(&home, &["--repair"]), [listed(1, "recorded", 1)]);
    assert_eq!(states(&home, &["--repair"]), [listed(1, "recorded", 1)]);
    succeeded(&home.run(&["session", "delete", SESSION, "--yes"]), "delete");
    home.create_session(SESSION);
    assert_eq!(home.json(&["snapshot", "create"])["number"], 2);
    assert_eq!(states(&home, &[]), [listed(1, "recorded", 1), listed(2, "recorded", 2)]);
}

#[test]
fn one_that_is_gone_is_missing_and_says_so() {
    let home = at_work();
    let id = home.json(&["snapshot", "create"])["id"].as_str().unwrap().to_owned();
    home.json(&["snapshot", "create"]);
    git(&home.work(), &["update-ref", "-d", "refs/ah/sessions/ses_0123456789ab/1"]);
    assert_eq!(states(&home, &[]), [listed(1, "missing", 1), listed(2, "recorded", 2)]);
    let detail = format!("snapshot {} is gone from DIR/work", &id[..12]);
    assert_eq!(home.detail(&["snapshot", "restore", "1"], 3), detail);
    let found = home.json(&["snapshot", "delete", "2", "--yes"]);
    assert_eq!(found["number"], 2);
    assert_eq!(states(&home, &[]), [listed(1, "missing", 1), listed(2, "missing", 2)]);
}

#[test]
fn a_difference_is_a_patch_numbers_names_or_json() {
    let home = at_work();
    home.json(&["snapshot", "create"]);
    fs::write(home.work().join("a.txt"), "three\n").unwrap();
    fs::remove_file(home.work().join("new.txt")).unwrap();
    let text = |arguments: &[&str]| {
        succeeded(&home.run(&[&["snapshot", "diff"], arguments].concat()), arguments)
    };
    assert!(text(&[]).contains("-two\n+three\n"));
    assert_eq!(text(&["1", "--name-only"]), "a.txt\nnew.txt\n");
    assert_eq!(text(&["1", "--stat"]), "a.txt  +1 -1\nnew.txt  +0 -1\n2 files changed\n");
    let second = home.json(&["snapshot", "create"])["id"].clone();
    let found = home.json(&["snapshot", "diff", "1", "2"]);
    let expected = json!([
        {"path": "a.txt", "kind": "changed", "linesAdded": 1, "linesRemoved": 1},
        {"path": "new.txt", "kind": "removed", "linesAdded": 0, "linesRemoved": 1},
    ]);
    assert_eq!((&found["to"], &found["items"]), (&second, &expected));
    assert_eq!(text(&["2"]), "");
}

#[test]
fn files_are_restored_beside_and_in_place_only_when_asked_twice() {
    let home = at_work();
    home.json(&["snapshot", "create"]);
    fs::write(home.work().join("a.txt"), "spoiled\n").unwrap();
    let to = home.path().join("there");
    let done = home.json(&["snapshot", "restore", "1", "--to", to.to_str().unwrap()]);
    assert_eq!(done["directory"], to.to_str().unwrap());
    assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "two\n");
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "spoiled\n");
    let again = ["snapshot", "restore", "1", "--to", to.to_str().unwrap()];
    assert_eq!(home.detail(&again, 4), "DIR/there is there already");
    assert_eq!(home.run(&["snapshot", "restore", "1", "--in-place"]).status.code(), Some(2));
    let done = home.json(&["snapshot", "restore", "1", "--in-place", "--yes"]);
    assert_eq!((&done["changed"], &done["before"]["number"]), (&json!(1), &json!(2)));
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "two\n");
    // Back to what was there before.
    home.json(&["snapshot", "restore", "2", "--in-place", "--yes"]);
    assert_eq!(fs::read_to_string(home.work().join("a.txt")).unwrap(), "spoiled\n");
}

#[test]
fn time_travel_gives_a_branch_and_a_session_that_ends_at_the_snapshot() {
    let home = at_work();
    let note = |data: &str| {
        let event = ["session", "append", SESSION, "--type", "note", "--data", data];
        succeeded(&home.run(&event), data);
    };
    note("1");
    home.json(&["snapshot", "create"]);
    note("3");
    fs::write(home.work().join("a.txt"), "later\n").unwrap();
    let status = git(&home.work(), &["status", "--porcelain=v2", "--branch"]);
    let to = home.path().join("past");
    let past = to.to_str().unwrap();
    let done = home.json(&["snapshot", "branch", "1", "other-way", "--to", past]);
    assert_eq!(done["branch"], json!({"name": "other-way", "directory": past}));
    let session = &done["session"];
    assert_eq!(session["forkedFrom"], json!({"sessionId": SESSION, "atSeq": 2}));
    assert_eq!(session["projectDir"], past);
    assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "two\n");
    assert_eq!(git(&to, &["branch", "--show-current"]), "other-way\n");
    assert_eq!(git(&to, &["status", "--porcelain"]), "");
    assert_eq!(git(&home.work(), &["status", "--porcelain=v2", "--branch"]), status);
    // The fork takes its own, in its own directory.
    let fork = session["id"].as_str().unwrap();
    let own = home.json(&["snapshot", "create", fork]);
    assert_eq!((&own["directory"], &own["number"]), (&json!(past), &json!(1)));
    assert_eq!(states(&home, &[fork]), [listed(1, "recorded", 1)]);
    // Without a session the one is meant that works in the directory, though the fork is newer.
    assert_eq!(home.json(&["snapshot", "list"])["items"][0]["sessionId"], SESSION);
    let there = home.ah(&["snapshot", "list", "--json"]).current_dir(&to).output().unwrap();
    let there: Value = serde_json::from_str(&succeeded(&there, "list")).unwrap();
    assert_eq!(there["items"][0]["sessionId"], fork);
    // A name that is taken leaves neither a directory nor a session behind.
    let sessions = home.json(&["session", "list"])["items"].as_array().unwrap().len();
    let other = home.path().join("other");
    let again = ["snapshot", "branch", "1", "other-way", "--session", SESSION, "--to"];
    let detail = home.detail(&[&again[..], &[other.to_str().unwrap()]].concat(), 1);
    assert!(detail.contains("'other-way' already exists"), "{detail}");
    assert!(!other.exists());
    assert_eq!(home.json(&["session", "list"])["items"].as_array().unwrap().len(), sessions);
}

#[test]
fn the_older_ones_are_pruned() {
    let home = at_work();
    for _ in 0..3 {
        home.json(&["snapshot", "create"]);
    }
    let gone = home.json(&["snapshot", "prune", "--keep", "1", "--yes"]);
    let numbers: Vec<_> =
        gone["items"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [&json!(1), &json!(2)]);
    let all = [listed(1, "missing", 1), listed(2, "missing", 2), listed(3, "recorded", 3)];
    assert_eq!(states(&home, &[]), all);
    let to = home.path().join("there");
    home.json(&["snapshot", "restore", "3", "--to", to.to_str().unwrap()]);
}

#[test]
fn a_session_of_another_machine_is_named_with_it() {
    let home = at_work();
    home.damage("UPDATE sessions SET hostname = 'elsewhere'");
    let detail = home.detail(&["snapshot", "create", SESSION], 4);
    let begin = format!("session {SESSION} works on elsewhere, and this is ");
    assert!(detail.starts_with(&begin), "{detail}");
    let work = home.work();
    let here = ["snapshot", "create", SESSION, "--dir", work.to_str().unwrap()];
    assert_eq!(home.json(&here)["number"], 1);
}

#[test]
fn without_a_provider_each_says_why() {
    let home = Home::new();
    home.create_session(SESSION);
    let detail = home.detail(&["snapshot", "create", SESSION], 4);
    assert_eq!(detail, "no provider of snapshots can be used for DIR/work");
    let found = home.json(&["snapshot", "providers"]);
    let found = found["items"].as_array().unwrap();
    let usable: Vec<_> = found.iter().map(|one| (&one["provider"], &one["usable"])).collect();
    let no = json!(false);
    let names = ["zfs", "btrfs", "agentfs", "git"].map(Value::from);
    assert_eq!(usable, names.iter().map(|name| (name, &no)).collect::<Vec<_>>());
    let reason = found[3]["reason"].as_str().unwrap();
    assert!(reason.contains("not a git repository"), "{reason}");
    let wanted = ["snapshot", "create", SESSION, "--provider", "nothing"];
    assert_eq!(
        home.detail(&wanted, 2),
        "invalid provider: \"nothing\" is none of git, btrfs, zfs, agentfs"
    );
}

#[test]
fn killed_in_the_middle_the_repository_is_whole_and_the_next_one_works() {
    let home = at_work();
    for number in 0..400 {
        fs::write(home.work().join(format!("file-{number}")), format!("{number}\n")).unwrap();
    }
    let before = git(&home.work(), &["status", "--porcelain=v2", "--branch"]);
    for round in 0..8 {
        let mut child = home.spawn(&["snapshot", "create", SESSION]);
        // Somewhere in its way, a little later each time.
        thread::sleep(Duration::from_millis(10 + 15 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    git(&home.work(), &["fsck", "--strict"]);
    let last = home.json(&["snapshot", "create", SESSION]);
    let to = home.path().join("there");
    let id = last["id"].as_str().unwrap();
    home.json(&["snapshot", "restore", id, "--to", to.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(to.join("file-399")).unwrap(), "399\n");
    assert_eq!(git(&home.work(), &["status", "--porcelain=v2", "--branch"]), before);
    let all = states(&home, &[SESSION]);
    assert!(all.iter().all(|(_, state, _)| state == "recorded"), "{all:?}");
    git(&home.work(), &["fsck", "--strict"]);
}

#[test]
fn snapshots_of_a_session_on_a_server_are_recorded_there() {
    let home = at_work();
    let server = Server::start(home);
    let flag = ["--remote-server", server.url()];
    let home = server.home();
    let taken = home.json(&[&flag[..], &["snapshot", "create", SESSION]].concat());
    assert_eq!(taken["state"], "recorded");
    assert_eq!(states(home, &[&flag[..], &[SESSION]].concat()), [listed(1, "recorded", 1)]);
}
