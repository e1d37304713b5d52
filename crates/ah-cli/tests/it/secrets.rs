//! Secrets: they reach no file, whichever way they come, and `ah scrub` takes out what did.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Home, piped, succeeded};

/// Put together here, so that nobody takes them for real ones: a text with a secret, and the secret.
fn samples() -> Vec<(String, String)> {
    let body = |bytes: usize| "a1B2c3D4e5".repeat(bytes.div_ceil(10))[..bytes].to_owned();
    let pem = format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END", body(64));
    let jwt = format!("{}.{}.{}", format_args!("eyJ{}", body(20)), body(30), body(43));
    vec![
        (format!("token ghp_{}", body(36)), body(36)),
        (format!("key sk-ant-{}", body(40)), body(40)),
        (format!("id AKIA{}", "Q7".repeat(8)), "Q7".repeat(8)),
        (format!("Authorization: Bearer {}", body(33)), body(33)),
        (format!("https://user:{}@host/x", body(17)), body(17)),
        (format!("password={}", body(19)), body(19)),
        (pem, body(64)),
        (jwt.clone(), jwt),
    ]
}

/// Every file below a directory that holds one of the secrets, in any case of letters.
fn holders(directory: &Path, secrets: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holders(&path, secrets));
            continue;
        }
        let Ok(bytes) = fs::read(&path) else { continue };
        let bytes = bytes.to_ascii_lowercase();
        for secret in secrets {
            // The index of words cuts off what a word shares with the one before it.
            let end = secret[secret.len() - 12..].to_ascii_lowercase();
            if bytes.windows(end.len()).any(|part| part == end.as_bytes()) {
                found.push(format!("{} holds {end}", path.display()));
            }
        }
    }
    found
}

fn secrets() -> Vec<String> {
    samples().into_iter().map(|(_, secret)| secret).collect()
}

fn append_unredacted(home: &Home, session: &str, text: &str) {
    let data = json!({ "text": text }).to_string();
    let arguments = ["session", "append", session, "--type", "user_message", "--data", &data];
    let output = home.ah(&arguments).env("AH_SECRETS_REDACT", "off").output().unwrap();
    succeeded(&output, "append");
}

fn tell(home: &Home, payload: &str) {
    let mut command = home.ah(&["hook", "claude-code"]);
    command.env("TMPDIR", home.path().join("home"));
    let mut child = piped(&mut command).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn no_secret_reaches_a_file_through_hooks_tasks_messages_and_appends() {
    let home = Home::new().with_git();
    home.create_agent("alice");
    home.create_session("s");
    for (at, (text, _)) in samples().iter().enumerate() {
        let payload = json!({
            "session_id": "hooked", "cwd": "/x", "hook_event_name": "PostToolUse",
            "tool_use_id": format!("t{at}"), "tool_response": { "stdout": text },
        });
        tell(&home, &payload.to_string());
        tell(&home, &format!("no json: {text}"));
        let prompt = format!("--prompt={text}");
        succeeded(&home.run(&["task", "create", &prompt, "--agent", "codex"]), "task");
        succeeded(&home.run(&["message", "send", "alice", "--", text]), "message");
        let data = json!([text]).to_string();
        let done = home.json(&["session", "append", "s", "--type", "note", "--data", &data]);
        let count: u64 = done["redacted"].as_object().unwrap().values().map(number).sum();
        assert!(count >= 1, "{text}: {done}");
    }
    assert_eq!(holders(home.path(), &secrets()), [""; 0]);
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn a_transcript_with_secrets_is_imported_once_and_without_them() {
    let home = Home::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let session = "10000000-0000-4000-8000-000000000009";
    let line = |(at, (text, _)): (usize, &(String, String))| {
        let message = json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": format!("t{at}"), "content": text },
        ]});
        let uuid = format!("20000000-0000-4000-8000-{at:012}");
        json!({ "type": "user", "uuid": uuid, "sessionId": session, "cwd": "/x",
            "timestamp": "2026-01-02T03:04:05.000Z", "message": message })
        .to_string()
    };
    let lines: Vec<String> = samples().iter().enumerate().map(line).collect();
    let file = elsewhere.path().join(format!("{session}.jsonl"));
    fs::write(&file, lines.join("\n") + "\n").unwrap();
    let path = file.to_str().unwrap();
    let first = home.json(&["import", "claude-code", path]);
    assert_eq!(first["records"]["imported"], samples().len());
    let count: u64 = first["redacted"].as_object().unwrap().values().map(number).sum();
    assert!(count >= samples().len() as u64, "{first}");
    // As another file, so that it is read again.
    let copy = elsewhere.path().join(format!("copy-{session}.jsonl"));
    fs::copy(&file, &copy).unwrap();
    let again = home.json(&["import", "claude-code", copy.to_str().unwrap()]);
    assert_eq!(again["records"]["imported"], 0, "{again}");
    assert_eq!(holders(home.path(), &secrets()), [""; 0]);
}

#[test]
fn a_scrub_leaves_no_secret_in_any_file() {
    let home = Home::new();
    home.create_session("s");
    for (text, _) in samples() {
        append_unredacted(&home, "s", &format!("deploy {text}"));
    }
    // One that fills many pages.
    let (text, _) = &samples()[0];
    append_unredacted(&home, "s", &format!("long {}{text}", "word ".repeat(20_000)));
    assert_eq!(home.json(&["search", "deploy"])["items"].as_array().unwrap().len(), 8);
    assert!(!holders(home.path(), &secrets()).is_empty());
    let before = home.json(&["session", "events", "s"]);
    let dry = home.json(&["scrub", "--dry-run"]);
    assert_eq!(dry["changed"], 9, "{dry}");
    assert_eq!(dry["findings"][0]["id"], "s#1");
    assert_eq!(dry["findings"][0]["path"], "/data/text");
    assert!(!secrets().iter().any(|secret| dry.to_string().contains(secret)), "{dry}");
    assert_eq!(home.json(&["session", "events", "s"]), before);

    let done = home.json(&["scrub"]);
    assert_eq!((&done["changed"], &done["logLeft"]), (&json!(9), &json!(false)), "{done}");
    assert_eq!(done["found"], dry["found"]);
    assert_eq!(holders(home.path(), &secrets()), [""; 0]);
    assert_eq!(home.json(&["search", "deploy"])["items"].as_array().unwrap().len(), 8);
    let receipts = home.json(&["retention", "receipts"]);
    assert_eq!(receipts["items"][0]["kind"], "scrub");
    assert_eq!(receipts["items"][0]["removed"]["events"]["rows"], 9);
    assert_eq!(home.json(&["scrub"])["changed"], 0);
    assert_eq!(home.json(&["db", "check"])["violations"], json!([]));
}

#[test]
fn a_scrub_that_is_killed_is_begun_again_beside_a_writer() {
    let home = Home::new();
    home.create_session("s");
    let (text, _) = &samples()[0];
    let lines: String = (0..2_000)
        .map(|at| json!({ "type": "note", "data": { "n": at, "text": text } }).to_string() + "\n")
        .collect();
    let mut command = home.ah(&["session", "append", "s", "--stdin-jsonl"]);
    command.env("AH_SECRETS_REDACT", "off");
    let mut child = piped(&mut command).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    for wait_ms in [20, 60, 120] {
        let mut scrub = piped(&mut home.ah(&["scrub"])).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        let data = json!({ "beside": text }).to_string();
        let arguments = ["session", "append", "s", "--type", "note", "--data", &data];
        succeeded(&home.run(&arguments), "append beside");
        scrub.kill().unwrap();
        scrub.wait().unwrap();
    }
    home.json(&["scrub"]);
    assert_eq!(holders(home.path(), &secrets()[..1]), [""; 0]);
    assert_eq!(home.json(&["session", "show", "s"])["lastSeq"], 2_003);
    assert_eq!(home.json(&["scrub", "--dry-run"])["changed"], 0);
}
