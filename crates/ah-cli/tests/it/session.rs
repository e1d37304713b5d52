//! `ah session`: everything but its events and documents.

use serde_json::{Value, json};

use crate::support::Home;

/// A session as `--json` prints it.
fn session(id: &str, changed: Value) -> Value {
    let mut session = json!({
        "id": id, "status": "created", "title": null,
        "agent": { "type": "tester", "version": "latest" },
        "repoId": 1,
        "repo": {
            "vcs": "none", "rootPath": "DIR/work", "remoteUrl": null, "defaultBranch": null,
        },
        "runtime": { "type": "local" },
        "workspace": null, "labels": {}, "pinned": false,
        "parentSessionId": null, "forkedFrom": null, "origin": null,
        "projectDir": "DIR/work", "hostname": "HOST",
        "executorSessionId": null, "executorProfile": null, "executorType": null,
        "inferenceSessionId": null, "resetMessage": null,
        "multiplexerKind": null, "muxSession": null, "muxWindow": null,
        "paneLeft": null, "paneRight": null, "pidAgent": null,
        "logPath": null, "workspacePath": null,
        "lastSeq": 0,
        "usage": {
            "inputTokens": 0, "outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0,
            "reasoningTokens": 0,
        },
        "exit": { "code": null, "signal": null, "reason": null },
        "createdAt": "TIME", "startedAt": "TIME", "endedAt": null,
        "lastResumedAt": null, "lastActivityAt": "TIME",
    });
    for (name, value) in changed.as_object().unwrap() {
        session[name] = value.clone();
    }
    session
}

#[test]
fn create_registers_an_unseen_kind_and_a_directory_without_version_control() {
    let home = Home::new();
    let made = home.json(&["session", "create", "--agent", "tester", "--id", "s1"]);
    assert_eq!(home.steady(made), session("s1", json!({})));
    let kinds: Vec<String> = home
        .connect()
        .prepare("SELECT name || '@' || version FROM agents")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(kinds, ["tester@latest"]);
}

#[test]
fn create_prints_the_id_and_nothing_else() {
    let home = Home::new();
    let printed = home.human(&["session", "create", "--agent", "codex@1.2"]);
    assert_eq!(home.steady_text(&printed), "ID\n");
    let shown = home.json(&["session", "show", printed.trim()]);
    assert_eq!(shown["agent"], json!({ "type": "codex", "version": "1.2" }));
}

#[test]
fn create_binds_to_the_repository_around_the_directory() {
    let home = Home::new().with_git();
    std::fs::create_dir(home.work().join("deep")).unwrap();
    let output = home
        .ah(&["session", "create", "--id", "s1", "--json"])
        .current_dir(home.work().join("deep"))
        .output()
        .unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = json!({
        "agent": { "type": "claude-code", "version": "latest" },
        "projectDir": "DIR/work/deep",
        "repo": {
            "vcs": "git", "rootPath": "DIR/work", "remoteUrl": "https://example.com/a.git",
            "defaultBranch": "main",
        },
    });
    assert_eq!(home.steady(made), session("s1", expected));
}

#[test]
fn create_takes_title_labels_parent_origin_and_runtime() {
    let home = Home::new();
    home.create_session("parent-1");
    let made = home.json(&[
        "session",
        "create",
        "--agent",
        "tester",
        "--id",
        "s2",
        "--title",
        "a title",
        "--label",
        "a=b",
        "--label",
        "c=d=e",
        "--parent",
        "parent",
        "--source",
        "tool",
        "--external-id",
        "x",
        "--project-dir",
        "sub",
        "--runtime",
        "devcontainer",
        "--devcontainer-path",
        "dev.json",
    ]);
    let expected = json!({
        "title": "a title", "labels": { "a": "b", "c": "d=e" }, "parentSessionId": "parent-1",
        "origin": { "source": "tool", "externalId": "x" }, "projectDir": "DIR/work/sub",
        "runtime": { "type": "devcontainer", "devcontainerPath": "dev.json" },
    });
    assert_eq!(home.steady(made), session("s2", expected));
}

#[test]
fn list_shows_the_last_active_first_and_filters() {
    let home = Home::new();
    for (id, label) in [("a", "x=1"), ("b", "x=1"), ("c", "x=2")] {
        home.json(&["session", "create", "--agent", "tester", "--id", id, "--label", label]);
    }
    home.json(&["session", "set-status", "a", "running"]);
    let ids = |arguments: &[&str]| -> Vec<String> {
        let all = [&["session", "list"], arguments].concat();
        let page = home.json(&all);
        assert_eq!(page["nextCursor"], Value::Null);
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["a", "c", "b"]);
    assert_eq!(ids(&["--label", "x=1"]), ["a", "b"]);
    assert_eq!(ids(&["--status", "created", "--status", "running"]), ["a", "c", "b"]);
    assert_eq!(ids(&["--status", "created"]), ["c", "b"]);
    assert_eq!(ids(&["--agent", "tester@latest", "--since", "1h"]), ["a", "c", "b"]);
    assert_eq!(ids(&["--agent", "other"]), [""; 0]);
    assert_eq!(ids(&["--here"]), ["a", "c", "b"]);
    assert_eq!(ids(&["--repo", ".."]), [""; 0]);
    assert_eq!(home.json(&["repo", "list"])["items"].as_array().unwrap().len(), 1, "looked only");
}

#[test]
fn list_is_paged_by_cursor_or_all_at_once() {
    let home = Home::new();
    ["a", "b", "c"].iter().for_each(|id| home.create_session(id));
    let first = home.json(&["session", "list", "--limit", "2"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = home.json(&["session", "list", "--limit", "2", "--cursor", cursor]);
    let all = home.json(&["session", "list", "--all"]);
    let both = [&first["items"], &second["items"]].map(|items| items.as_array().unwrap().clone());
    assert_eq!(all, json!({ "items": both.concat(), "nextCursor": null }));
    assert_eq!(second["nextCursor"], Value::Null);
}

#[test]
fn list_for_people_is_a_table_and_says_how_to_go_on() {
    let home = Home::new();
    let empty = home.run(&["session", "list"]);
    assert_eq!(empty.stdout, b"");
    assert_eq!(empty.stderr, b"no sessions; `ah session create` begins one\n");
    home.json(&["session", "create", "--agent", "tester", "--id", "s1", "--title", "first"]);
    home.json(&["session", "create", "--agent", "t", "--id", "session-2", "--title", "second"]);
    home.json(&["session", "pin", "s1"]);
    let text = home.human(&["session", "list"]);
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["ID", "STATUS", "AGENT", "EVENTS", "ACTIVE", "TITLE"]);
    assert_eq!(lines.len(), 3);
    assert!(text.contains("* first"), "{text}");
    let output = home.run(&["session", "list", "--limit", "1"]);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(talk.starts_with("more: add --all, or --cursor "), "{talk}");
    assert_eq!(home.run(&["session", "list", "--limit", "1", "-q"]).stderr, b"");
}

#[test]
fn show_takes_the_beginning_of_an_id_and_leaves_empty_fields_out() {
    let home = Home::new();
    home.json(&["session", "create", "--agent", "tester", "--id", "session-1", "--title", "t"]);
    assert_eq!(
        home.steady_text(&home.human(&["session", "show", "sess"])),
        "id:            session-1\n\
         title:         t\n\
         status:        created\n\
         agent:         tester@latest\n\
         repository:    DIR/work\n\
         directory:     DIR/work\n\
         runtime:       local\n\
         events:        0\n\
         created:       TIME\n\
         last activity: TIME\n"
    );
}

#[test]
fn status_moves_along_the_state_machine_and_keeps_how_it_ended() {
    let home = Home::new();
    home.create_session("s1");
    assert_eq!(home.human(&["session", "set-status", "s1", "running"]), "running\n");
    let arguments = ["--exit-code", "-1", "--signal", "9", "--reason", "killed"];
    let done = home.json(&[&["session", "set-status", "s1", "error"], &arguments[..]].concat());
    let expected = json!({
        "status": "failed", "exit": { "code": -1, "signal": 9, "reason": "killed" },
        "startedAt": "TIME", "endedAt": "TIME",
    });
    assert_eq!(home.steady(done.clone()), session("s1", expected));
    let problem = home.problem(&["session", "set-status", "s1", "running"], 4);
    let reason = "is failed and cannot become running";
    let expected = json!({
        "code": "conflict", "title": "not possible in this state", "status": 409,
        "detail": format!("session s1: {reason}"), "kind": "session", "id": "s1", "reason": reason,
    });
    assert_eq!(problem, expected);
    assert_eq!(home.json(&["session", "show", "s1"]), done);
}

#[test]
fn fork_goes_on_from_a_point_with_a_log_of_its_own() {
    let home = Home::new();
    home.session_with_events("s1", 3);
    let fork = home.json(&["session", "fork", "s1", "--at", "2", "--new-id", "f1", "--title", "x"]);
    let expected = json!({
        "title": "x", "forkedFrom": { "sessionId": "s1", "atSeq": 2 },
    });
    assert_eq!(home.steady(fork), session("f1", expected));
    home.json(&["session", "append", "f1", "--type", "own"]);
    let log = |id| home.json(&["session", "events", id])["items"].as_array().unwrap().len();
    assert_eq!((log("s1"), log("f1")), (3, 1));
    assert_eq!(home.steady_text(&home.human(&["session", "fork", "s1"])), "ID\n");
    home.refused(&["session", "fork", "s1", "--at", "4"], 2);
}

#[test]
fn rename_and_pin_change_one_thing_and_are_silent() {
    let home = Home::new();
    home.create_session("s1");
    assert_eq!(home.human(&["session", "rename", "s1", "new"]), "");
    assert_eq!(home.human(&["session", "pin", "s1"]), "");
    let shown = home.steady(home.json(&["session", "show", "s1"]));
    assert_eq!(shown, session("s1", json!({ "title": "new", "pinned": true })));
    let renamed = home.json(&["session", "rename", "s1", ""]);
    assert_eq!(home.steady(renamed), session("s1", json!({ "pinned": true })));
    let unpinned = home.json(&["session", "pin", "s1", "--off"]);
    assert_eq!(home.steady(unpinned), session("s1", json!({})));
}

#[test]
fn delete_removes_the_session_with_its_events_but_not_one_that_was_forked() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    home.json(&["session", "fork", "s1", "--new-id", "f1"]);
    home.refused(&["session", "delete", "s1", "--yes"], 4);
    assert_eq!(home.json(&["session", "delete", "f1"]), json!({ "id": "f1", "deleted": true }));
    assert_eq!(home.human(&["session", "delete", "s1", "--yes"]), "");
    let left = home.json(&["session", "list"]);
    assert_eq!(left, json!({ "items": [], "nextCursor": null }));
    assert_eq!(home.json(&["db", "stats"])["rows"]["events"], 0);
}

#[test]
fn people_are_asked_before_a_session_goes() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    let refused = home.on_terminal("session delete s1", &[("NO_COLOR", "1")], "n\n");
    let question = "Delete session s1 with its 2 events? [y/N] ";
    let said = format!("{question}error: not confirmed, nothing was changed");
    assert!(refused.contains(&said), "{refused:?}");
    assert_eq!(home.json(&["session", "show", "s1"])["lastSeq"], 2);
    let asked = home.on_terminal("session delete s1", &[], "y\n");
    assert!(asked.contains(question), "{asked:?}");
    home.refused(&["session", "show", "s1"], 3);
}

#[test]
fn workspaces_are_refused_clearly_by_the_local_store() {
    let home = Home::new();
    let expected = json!({
        "code": "unsupported", "title": "not supported by this store", "status": 501,
        "detail": "this store has no workspaces", "feature": "workspaces",
        "hints": [
            "workspaces live on a server: leave `--workspace` out, or use one's database with `--database-url`"
        ],
    });
    for arguments in [
        &["workspace", "list"][..],
        &["workspace", "create", "w"],
        &["session", "create", "--workspace", "w"],
        &["task", "create", "--prompt", "x", "--repo", ".", "--workspace", "w"],
    ] {
        assert_eq!(home.problem(arguments, 4), expected, "{arguments:?}");
    }
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
}
