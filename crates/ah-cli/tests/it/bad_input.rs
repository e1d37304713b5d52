//! Input nobody should give: a clear answer, nothing written, nothing lost.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::{Home, succeeded};

/// Everything the database says of its sessions and events.
fn contents(home: &Home) -> Value {
    let sessions = home.json(&["session", "list", "--all"]);
    let events: Vec<_> = sessions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| home.json(&["session", "events", session["id"].as_str().unwrap()]))
        .collect();
    json!({ "sessions": sessions, "events": events, "tasks": home.json(&["task", "list"]) })
}

fn prepared() -> Home {
    let home = Home::new().with_git();
    home.session_with_events("session-1", 2);
    home.create_session("session-2");
    home
}

#[test]
fn an_unknown_id_is_not_found_by_any_verb() {
    let home = prepared();
    let before = contents(&home);
    for arguments in [
        &["session", "show", "nope"][..],
        &["session", "append", "nope", "--type", "n"],
        &["session", "append", "nope", "--stdin-jsonl"],
        &["session", "events", "nope"],
        &["session", "events", "nope", "--limit", "0"],
        &["session", "follow", "nope"],
        &["session", "set-status", "nope", "running"],
        &["session", "fork", "nope"],
        &["session", "rename", "nope", "x"],
        &["session", "pin", "nope"],
        &["session", "delete", "nope", "--yes"],
        &["session", "export", "nope"],
        &["session", "create", "--parent", "nope"],
        &["session", "list", "--parent", "nope"],
        &["task", "list", "--session", "nope"],
    ] {
        assert_eq!(home.detail(arguments, 3), "session nope not found", "{arguments:?}");
    }
    assert_eq!(home.detail(&["task", "show", "9"], 3), "task 9 not found");
    assert_eq!(home.detail(&["draft", "show", "nope"], 3), "draft nope not found");
    assert_eq!(contents(&home), before);
}

#[test]
fn an_ambiguous_beginning_of_an_id_names_two() {
    let home = prepared();
    let before = contents(&home);
    let detail = "session sess is ambiguous: session-1 and session-2 begin with it";
    for arguments in [
        &["session", "show", "sess"][..],
        &["session", "append", "sess", "--type", "n"],
        &["session", "delete", "sess", "--yes"],
    ] {
        assert_eq!(home.detail(arguments, 4), detail);
    }
    home.create_session("session");
    assert_eq!(home.json(&["session", "show", "session"])["id"], "session", "whole ids win");
    home.json(&["session", "delete", "session"]);
    assert_eq!(contents(&home), before);
}

#[test]
fn an_id_no_url_could_carry_is_refused() {
    let home = Home::new();
    for id in ["a b", "a/b", "é", "..", &"x".repeat(129)] {
        let detail = home.detail(&["session", "create", "--id", id], 2);
        assert!(detail.starts_with("invalid session id: "), "{detail}");
    }
    assert_eq!(
        home.detail(&["session", "show", ""], 2),
        "invalid session id: 0 bytes, 1 to 128 are allowed"
    );
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
}

#[test]
fn what_is_not_json_is_refused() {
    let home = prepared();
    let before = contents(&home);
    for text in ["", "{", "{\"a\":}", "nul", "{} {}", "'x'", "\"a\u{1}b\"", "[1,]"] {
        let detail =
            home.detail(&["session", "append", "session-1", "--type", "n", "--data", text], 2);
        assert!(detail.starts_with("invalid data: "), "{text:?}: {detail}");
    }
    assert_eq!(contents(&home), before);
}

#[test]
fn a_payload_nested_too_deep_is_refused_and_one_that_is_not_is_sound() {
    let home = prepared();
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let append = ["session", "append", "session-1", "--type", "n", "--data-file", "deep.json"];
    std::fs::write(home.work().join("deep.json"), nested(100_000)).unwrap();
    let detail = home.detail(&append, 2);
    assert_eq!(detail, "invalid data: nested 100000 deep, at most 500 are allowed");
    std::fs::write(home.work().join("deep.json"), nested(500)).unwrap();
    assert_eq!(home.json(&append)["firstSeq"], 3);
    assert_eq!(home.json(&["db", "check"])["violations"], json!([]));
}

#[test]
fn escaped_nul_and_lone_surrogates_are_kept_as_they_were_written() {
    let home = prepared();
    let data = r#"{"nul":"a\u0000b","lone":"\ud800","pair":"\ud83d\ude00","n":1.00,"big":123456789012345678901234567890}"#;
    home.json(&["session", "append", "session-2", "--type", "n", "--data", data]);
    let line = format!("{{\"type\":\"n\",\"data\":{data}}}\n");
    let lines = ["session", "append", "session-2", "--stdin-jsonl"];
    succeeded(&home.feed(&lines, line.as_bytes()), "append");
    let text = home.human(&["session", "events", "session-2", "--json"]);
    assert_eq!(text.matches(&format!("\"data\":{data}")).count(), 2, "{text}");
    let stored: String = home
        .connect()
        .query_row(
            "SELECT data FROM events WHERE session_id = 'session-2' AND seq = 1",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(stored, data);
}

#[test]
fn raw_nul_bytes_are_refused() {
    let home = prepared();
    let before = contents(&home);
    std::fs::write(home.work().join("nul.json"), b"\"a\0b\"").unwrap();
    std::fs::write(home.work().join("nul.txt"), b"a\0b").unwrap();
    let file = ["session", "append", "session-1", "--type", "n", "--data-file", "nul.json"];
    let detail = home.detail(&file, 2);
    assert!(detail.starts_with("invalid data: control character"), "{detail}");
    let line = b"{\"type\":\"n\",\"data\":\"\0\"}\n";
    let output = home.feed(&["session", "append", "session-1", "--stdin-jsonl"], line);
    assert_eq!(shape(&output), (Some(1), ""));
    assert!(errors(&output).starts_with("error: line 1: invalid event: control character"));
    assert_eq!(
        home.detail(&["task", "create", "--prompt-file", "nul.txt"], 2),
        "invalid prompt: NUL byte at offset 1"
    );
    let output = home.feed(&["kv", "set", "k", "-"], b"a\0b");
    assert_eq!(
        (shape(&output), errors(&output)),
        ((Some(2), ""), "error: invalid value: NUL byte at offset 1\n".to_owned())
    );
    assert_eq!(contents(&home), before);
}

#[test]
fn bytes_that_are_not_utf8_are_refused() {
    let home = prepared();
    let before = contents(&home);
    std::fs::write(home.work().join("latin.txt"), b"caf\xe9").unwrap();
    assert_eq!(
        home.detail(&["task", "create", "--prompt-file", "latin.txt"], 2),
        "invalid prompt: latin.txt is not UTF-8 from byte 3 on"
    );
    assert_eq!(
        home.detail(
            &["session", "append", "session-1", "--type", "n", "--data-file", "latin.txt"],
            2
        ),
        "invalid data: latin.txt is not UTF-8 from byte 3 on"
    );
    let lines = ["session", "append", "session-1", "--stdin-jsonl"];
    let output = home.feed(&lines, b"{\"type\":\"caf\xe9\"}\n");
    assert_eq!(shape(&output), (Some(1), ""));
    let mut command = home.ah(&["session", "create", "--title"]);
    let output = command.arg(OsStr::from_bytes(b"caf\xe9")).output().unwrap();
    assert_eq!(shape(&output), (Some(2), ""));
    assert_eq!(contents(&home), before);
}

#[test]
fn a_prompt_of_four_hundred_megabytes_is_refused_in_little_memory() {
    let home = prepared();
    let before = contents(&home);
    let file = std::fs::File::create(home.work().join("big.txt")).unwrap();
    file.set_len(400 * 1024 * 1024).unwrap();
    let program = env!("CARGO_BIN_EXE_ah");
    // The limit of the address space, in KiB, is far below the size of the file.
    let limited = format!("ulimit -v 180000; exec {program} task create --prompt-file big.txt");
    let output = home.clean("sh").args(["-c", &limited]).output().unwrap();
    let said = "error: invalid prompt: big.txt holds more than the 4194304 bytes allowed\n";
    assert_eq!((shape(&output), errors(&output)), ((Some(2), ""), said.to_owned()));
    let data = home
        .detail(&["session", "append", "session-1", "--type", "n", "--data-file", "big.txt"], 2);
    assert_eq!(data, "invalid data: big.txt holds more than the 16777216 bytes allowed");
    assert_eq!(contents(&home), before);
}

#[test]
fn an_overlong_line_costs_itself_only() {
    let home = prepared();
    let mut lines = Vec::from(&b"{\"type\":\"a\"}\n{\"type\":\"b\",\"data\":\""[..]);
    lines.resize(lines.len() + 17 * 1024 * 1024, b'x');
    lines.extend_from_slice(b"\"}\n{\"type\":\"c\"}\n");
    let output = home.feed(&["session", "append", "session-2", "--stdin-jsonl"], &lines);
    assert_eq!(output.status.code(), Some(1));
    let said = "error: line 2: invalid data: 17825794 bytes, at most 16777216 are allowed\n\
                error: 1 line was refused, the others were appended\n";
    assert_eq!(errors(&output), said);
    let page = home.json(&["session", "events", "session-2"]);
    let kinds: Vec<_> = page["items"].as_array().unwrap().iter().map(|e| &e["type"]).collect();
    assert_eq!(kinds, ["a", "c"]);
}

#[test]
fn overlong_and_empty_texts_are_refused() {
    let home = prepared();
    let before = contents(&home);
    let long = "x".repeat(5_000);
    let label = format!("k={}", "v".repeat(300));
    for arguments in [
        &["session", "create", "--title", &long][..],
        &["session", "rename", "session-1", &long],
        &["session", "append", "session-1", "--type", ""],
        &["session", "append", "session-1", "--type", &long],
        &["session", "append", "session-1", "--type", "n", "--dedup-key", ""],
        &["session", "append", "session-1", "--type", "n", "--ts", "yesterday"],
        &["session", "create", "--label", &label],
        &["session", "create", "--label", "=v"],
        &["session", "set-status", "session-1", "dancing"],
        &["session", "set-status", "session-1", "running", "--exit-code", "1"],
        &["session", "list", "--limit", "0"],
        &["session", "list", "--limit", "1001"],
        &["session", "list", "--cursor", "zz"],
        &["session", "events", "session-1", "--cursor", "7461"],
        &["session", "list", "--since", "soon"],
        &["task", "create", "--prompt", " "],
        &["kv", "set", "", "v"],
        &["kv", "get", &long],
    ] {
        let detail = home.detail(arguments, 2);
        assert!(detail.starts_with("invalid "), "{arguments:?}: {detail}");
    }
    assert_eq!(contents(&home), before);
}

#[test]
fn a_missing_file_is_named() {
    let home = prepared();
    let missing = "No such file or directory (os error 2)";
    for arguments in [
        &["task", "create", "--prompt-file", "none"][..],
        &["session", "append", "session-1", "--type", "n", "--data-file", "none"],
        &["session", "import", "none"],
    ] {
        assert_eq!(home.detail(arguments, 1), format!("cannot read none: {missing}"));
    }
    let detail = home.detail(&["session", "export", "session-1", "-o", "none/x"], 1);
    assert!(detail.starts_with("cannot write none/x: "), "{detail}");
}
