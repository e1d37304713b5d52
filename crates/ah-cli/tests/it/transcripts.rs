//! `ah import claude-code`, `ah import codex`, `ah import --all`: transcripts of coding agents.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::answers::errors;
use crate::support::Home;

const CLAUDE: &str = "10000000-0000-4000-8000-000000000001";
const CODEX: &str = "01a1de19-4430-7be1-ae55-5bf887926e62";

/// A transcript of Claude Code below `place`, of a session in the repository of the test.
fn claude(home: &Home, place: &str) -> PathBuf {
    let cwd = home.work().canonicalize().unwrap();
    let line = |uuid: &str, kind: &str, message: Value| {
        json!({
            "type": kind, "uuid": uuid, "parentUuid": null, "sessionId": CLAUDE, "cwd": cwd,
            "version": "2.1.325", "gitBranch": "main", "timestamp": "2026-11-15T07:28:18.000Z",
            "message": message,
        })
    };
    let answer = json!({
        "id": "m1", "role": "assistant", "model": "opus", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "hello to you"}],
        "usage": {"input_tokens": 7, "output_tokens": 3},
    });
    let lines = [
        line("u1", "user", json!({"role": "user", "content": "hello"})),
        line("u2", "assistant", answer),
    ];
    put(home, &format!("{place}/projects/-work/{CLAUDE}.jsonl"), &lines)
}

fn codex(home: &Home, place: &str) -> PathBuf {
    let line = |ordinal: u64, kind: &str, payload: Value| {
        json!({
            "timestamp": "2026-11-15T07:26:00.000Z", "ordinal": ordinal, "type": kind,
            "payload": payload,
        })
    };
    let item = json!({"type": "UserMessage", "content": [{"type": "text", "text": "hello"}]});
    let lines = [
        line(0, "session_meta", json!({"id": CODEX, "cwd": "/gone", "cli_version": "0.166.0"})),
        line(1, "event_msg", json!({"type": "item_completed", "item": item})),
    ];
    put(home, &format!("{place}/sessions/2026/11/15/rollout-x-{CODEX}.jsonl"), &lines)
}

fn put(home: &Home, name: &str, lines: &[Value]) -> PathBuf {
    let path = home.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn transcripts_come_in_from_where_the_program_keeps_them() {
    let home = Home::new();
    claude(&home, "home/.claude");
    let report = home.json(&["import", "claude-code"]);
    assert_eq!([&report["source"], &report["files"]["read"]], [&json!("claude-code"), &json!(1)]);
    assert_eq!(report["usage"]["inputTokens"], 7);
    let session = home.json(&["session", "show", CLAUDE]);
    assert_eq!(session["origin"], json!({"source": "claude-code", "externalId": CLAUDE}));
    assert_eq!([&session["title"], &session["status"]], ["hello", "idle"]);
    assert_eq!(session["labels"], json!({"branch": "main", "model": "opus"}));
    let context = home.json(&["session", "context", CLAUDE]);
    assert_eq!(context["messages"][1]["content"][0]["text"], "hello to you");
    let shown = home.run(&["session", "context", &CLAUDE[..8]]);
    assert!(String::from_utf8(shown.stdout).unwrap().contains("hello to you"));
    let again = home.json(&["import", "claude-code"]);
    assert_eq!([&again["files"]["unchanged"], &again["records"]["imported"]], [1, 0]);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn all_takes_every_program_that_has_transcripts_and_variables_name_their_places() {
    let home = Home::new();
    claude(&home, "elsewhere");
    codex(&home, "home/.codex");
    let all = |elsewhere: &str| {
        let mut command = home.ah(&["import", "--all", "--json"]);
        let output = command.env("CLAUDE_CONFIG_DIR", home.path().join(elsewhere)).output();
        serde_json::from_slice::<Value>(&output.unwrap().stdout).unwrap()
    };
    assert_eq!(all("nowhere")["source"], "codex");
    let both = all("elsewhere");
    let of = |report: &Value| (report["source"].clone(), report["sessions"]["imported"].clone());
    assert_eq!(of(&both[0]), (json!("claude-code"), json!(1)));
    assert_eq!(of(&both[1]), (json!("codex"), json!(0)));
    let session = home.json(&["session", "show", CODEX]);
    assert_eq!([&session["repo"]["vcs"], &session["repo"]["rootPath"]], ["none", "/gone"]);
}

#[test]
fn one_file_is_read_and_a_dry_run_or_an_older_file_brings_nothing() {
    let home = Home::new();
    let file = claude(&home, "x");
    let file = file.to_str().unwrap();
    let dry = home.json(&["import", "claude-code", file, "--dry-run"]);
    assert_eq!([&dry["dryRun"], &dry["records"]["imported"]], [&json!(true), &json!(3)]);
    let later = home.json(&["import", "claude-code", file, "--since", "9999-01-01T00:00:00Z"]);
    assert_eq!(later["files"]["older"], 1);
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
    let output = home.run(&["import", "claude-code", file]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("new tokens:  7 input, 3 output\n"), "{text}");
    assert!(text.contains(&format!("{CLAUDE}: imported: 3 records\n")), "{text}");
}

#[test]
fn transcripts_that_are_not_there_are_named_with_the_next_command() {
    let home = Home::new();
    let text = home.refused(&["import", "--all"], 3);
    assert_eq!(
        text,
        "error: no transcripts found: there is no DIR/home/.claude/projects, no \
         DIR/home/.codex/sessions, no DIR/home/.gemini/tmp, no DIR/home/.local/share/opencode, no \
         DIR/home/.local/share/goose/sessions\nhint: name where they are, such as \
         `ah import claude-code PATH`\n"
    );
    let output = home.run(&["import", "codex"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("`ah import codex PATH`"));
}

#[test]
fn gemini_and_databases_are_taken_where_their_variables_say() {
    let home = Home::new();
    let head = json!({
        "sessionId": "g1", "projectHash": "h", "startTime": "2026-11-15T07:03:20.541Z",
        "kind": "main",
    });
    let said = json!({
        "id": "m1", "timestamp": "2026-11-15T07:03:21.077Z", "type": "user",
        "content": [{"text": "hello"}],
    });
    put(&home, "g/.gemini/tmp/p/chats/session-x-g1.jsonl", &[head, said]);
    std::fs::write(home.path().join("g/.gemini/tmp/p/.project_root"), "/gone").unwrap();
    let mut command = home.ah(&["import", "--all", "--json"]);
    let output = command.env("GEMINI_CLI_HOME", home.path().join("g")).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!([&report["source"], &report["sessions"]["imported"]], [&json!("gemini"), &json!(1)]);
    let session = home.json(&["session", "show", "g1"]);
    assert_eq!([&session["projectDir"], &session["title"]], ["/gone", "hello"]);
    for tool in ["opencode", "goose"] {
        let file = home.path().join("odd.db");
        std::fs::write(&file, "no database at all, but long enough to be looked at as one")
            .unwrap();
        let text = home.refused(&["import", tool, file.to_str().unwrap()], 2);
        assert!(text.contains(&format!("as a database of {tool}")), "{text}");
    }
}
