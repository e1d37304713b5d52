//! `ah hooks`: the settings of coding agents, which stay theirs.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Home, succeeded};

/// As people have them: hooks of their own, keys of every kind, tabs in places.
const CLAUDE: &str = "{\n  \"$schema\": \"https://json.schemastore.org/claude-code-settings.json\",\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash(cargo test:*)\", \"Read(//home/**)\"],\n    \"deny\": []\n  },\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"guard.sh\", \"timeout\": 5 }\n        ]\n      }\n    ],\n\t\"Stop\": [{\"hooks\":[{\"type\":\"command\",\"command\":\"say 'done'\"}]}]\n  },\n  \"statusLine\": { \"type\": \"command\", \"command\": \"line\" }\n}\n";
const CODEX: &str =
    "{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"hello\"}]}]}}\n";
const GEMINI: &str = "{\n\t\"theme\": \"Dark\",\n\t\"unknown\": [1.0, null]\n}";

fn file(home: &Home, kind: &str) -> PathBuf {
    let below = match kind {
        "claude-code" => ".claude/settings.json",
        "codex" => ".codex/hooks.json",
        "gemini" => ".gemini/settings.json",
        _ => ".agents/plugins/agent-harbor/hooks/hooks.json",
    };
    home.path().join("home").join(below)
}

fn write(home: &Home, kind: &str, text: &str) -> PathBuf {
    let path = file(home, kind);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn settings_are_what_they_were_once_our_hooks_are_gone() {
    for (kind, before) in [
        ("claude-code", CLAUDE),
        ("codex", CODEX),
        ("gemini", GEMINI),
        ("claude-code", "{}"),
        ("claude-code", "{ \"hooks\": { \"Stop\": [ ] } }\n"),
        ("claude-code", ""),
    ] {
        let home = Home::new();
        let path = write(&home, kind, before);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let done = home.json(&["hooks", "install", kind]);
        assert_eq!(done["changed"], true);
        assert_eq!(read(&PathBuf::from(done["backup"].as_str().unwrap())), before);
        let with = read(&path);
        let _: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(home.json(&["hooks", "install", kind])["changed"], false, "{with}");
        assert_eq!(read(&path), with);
        let removed = home.json(&["hooks", "remove", kind])["removed"].as_u64().unwrap();
        assert!(removed >= 7, "{removed}");
        assert_eq!(read(&path), before, "{kind}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(home.json(&["hooks", "remove", kind])["removed"], 0);
    }
}

#[test]
fn a_file_that_was_not_there_is_not_there_afterwards() {
    for kind in ["claude-code", "codex", "gemini", "goose"] {
        let home = Home::new();
        home.json(&["hooks", "install", kind]);
        let path = file(&home, kind);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        home.json(&["hooks", "remove", kind]);
        assert!(!path.exists(), "{kind}");
    }
}

#[test]
fn what_somebody_else_changed_meanwhile_stays() {
    let home = Home::new();
    let path = write(&home, "claude-code", CLAUDE);
    home.json(&["hooks", "install", "claude-code"]);
    let changed = read(&path).replace("\"opus\"", "\"sonnet\"").replace("guard.sh", "other.sh");
    std::fs::write(&path, &changed).unwrap();
    home.json(&["hooks", "remove", "claude-code"]);
    let expected = CLAUDE.replace("\"opus\"", "\"sonnet\"").replace("guard.sh", "other.sh");
    assert_eq!(read(&path), expected);
}

#[test]
fn every_hook_says_how_long_it_may_take_and_runs_this_program() {
    let home = Home::new();
    home.json(&["hooks", "install", "claude-code"]);
    let settings: Value = serde_json::from_str(&read(&file(&home, "claude-code"))).unwrap();
    let events = settings["hooks"].as_object().unwrap();
    for event in [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "PreCompact",
        "Notification",
        "PermissionRequest",
    ] {
        let handler = &events[event][0]["hooks"][0];
        assert_eq!(handler["timeout"], 10, "{event}");
        let command = handler["command"].as_str().unwrap();
        assert_eq!(command, format!("{} hook claude-code", env!("CARGO_BIN_EXE_ah")));
    }
    home.json(&["hooks", "install", "codex"]);
    let settings: Value = serde_json::from_str(&read(&file(&home, "codex"))).unwrap();
    assert_eq!(settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"], 3, "Codex takes no more");
}

#[test]
fn installing_otherwise_replaces_ours_and_status_shows_it() {
    let home = Home::new();
    home.create_agent("ada");
    write(&home, "claude-code", CLAUDE);
    home.json(&["hooks", "install", "claude-code"]);
    home.json(&["hooks", "install", "claude-code", "--agent", "ada", "--approvals"]);
    let settings: Value = serde_json::from_str(&read(&file(&home, "claude-code"))).unwrap();
    let handler = &settings["hooks"]["PermissionRequest"][0]["hooks"][0];
    assert_eq!(handler["timeout"], 600, "a person has to decide");
    assert_eq!(settings["hooks"]["Stop"].as_array().unwrap().len(), 2, "one is not ours");
    let status = home.json(&["hooks", "status", "claude-code"]);
    let command = status["items"][0]["command"].as_str().unwrap();
    assert!(command.ends_with("ah hook claude-code --agent ada --approvals"), "{command}");
    assert_eq!(status["items"][1]["hooks"], 0, "not in the project: {status}");
    home.json(&["hooks", "remove", "claude-code"]);
    assert_eq!(read(&file(&home, "claude-code")), CLAUDE);
}

#[test]
fn a_project_gets_hooks_that_name_no_place_of_this_machine() {
    let home = Home::new();
    home.json(&["hooks", "install", "claude-code", "--project"]);
    let text = read(&home.work().join(".claude/settings.json"));
    assert!(text.contains("\"ah hook claude-code\""), "{text}");
    assert!(!file(&home, "claude-code").exists());
    home.json(&["hooks", "remove", "claude-code", "--project"]);
    assert!(!home.work().join(".claude/settings.json").exists());
}

#[test]
fn approvals_without_a_name_are_about_an_agent_called_as_the_program() {
    let home = Home::new();
    home.json(&["hooks", "install", "codex", "--approvals"]);
    assert_eq!(home.json(&["agent", "show", "codex"])["name"], "codex");
    let refused = home.run(&["hooks", "install", "gemini", "--approvals"]);
    assert_eq!(refused.status.code(), Some(2));
    let unknown = home.run(&["hooks", "install", "claude-code", "--agent", "nobody"]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(!file(&home, "claude-code").exists());
}

#[test]
fn settings_that_cannot_be_read_are_refused_and_left_alone() {
    for text in ["{ // mine\n}", "[]", "{\"hooks\": 1}", "{\"hooks\": {\"Stop\": 1}}", "{"] {
        let home = Home::new();
        let path = write(&home, "claude-code", text);
        let output = home.run(&["hooks", "install", "claude-code"]);
        assert_eq!(output.status.code(), Some(4), "{text}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(path.to_str().unwrap()) && said.contains("hint:"), "{said}");
        assert_eq!(read(&path), text);
        succeeded(&home.run(&["hooks", "status"]), "status");
    }
}
