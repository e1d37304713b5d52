//! Gemini CLI's own sessions, as it wrote them, and what can happen to them.

use serde_json::{Value, json};

use crate::support::{events, store};
use crate::transcript::{Tool, Transcripts, fixture, kept, kinds, log, session, sessions, told};

const MAIN: &str = "43afbdde-2b43-4d48-a803-818ad7b3e667";

fn text(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

fn head(session: &str, kind: &str) -> Value {
    json!({"sessionId": session, "projectHash": "h", "startTime": "2026-11-15T07:03:20.000Z", "kind": kind})
}

fn said(id: &str, kind: &str, content: Value) -> Value {
    json!({"id": id, "timestamp": "2026-11-15T07:03:21.000Z", "type": kind, "content": content})
}

#[test]
fn version_0_61_0_is_a_session_with_every_answer_counted_once() {
    let store = store();
    let report = Transcripts::of(Tool::Gemini, "0.61.0").import(&*store);
    assert_eq!(
        kept(&*store),
        format!(
            r#"{MAIN} gemini@latest idle "please" in /home/dev/project [model=gemini-3.1-pro-preview] 3030/153/600/0/0 07:03:20..07:03:24"#
        )
    );
    assert_eq!((report.files.read, report.sessions.imported, report.records.kept_raw), (1, 1, 0));
}

#[test]
fn a_message_that_is_told_again_is_shown_once_with_its_calls_and_results() {
    let store = store();
    Transcripts::of(Tool::Gemini, "0.61.0").import(&*store);
    assert_eq!(
        told(&*store, &session(&*store, MAIN)),
        r#"user: please\n::say ok\n::tool run_shell_command {"command":"echo
assistant: ok
assistant: run_shell_command run_shell_command__call_c235e49e00028_0 {"command":"echo hi","description":"d"}
tool run_shell_command__call_c235e49e00028_0: <untrusted_context>\nOutput: hi\nProcess Group PGID: 1207\n<
assistant: mcp_probe_echo mcp_probe_echo__call_c235e49e00029_0 {"text":"ping"}
tool mcp_probe_echo__call_c235e49e00029_0: <untrusted_context>\nping\n</untrusted_context>
assistant: all done"#
    );
    assert_eq!(
        kinds(&*store, &session(&*store, MAIN)),
        "session_start gemini.$set user_message gemini.$set assistant_message usage gemini.$set \
         assistant_message tool_result gemini.$set assistant_message usage gemini.$set \
         assistant_message tool_result gemini.$set assistant_message usage gemini.$set"
    );
}

#[test]
fn sessions_of_old_versions_are_left_out_and_named() {
    let (transcripts, store) = (Transcripts::new(Tool::Gemini), store());
    transcripts.write("p/chats/session-2025-01-01.json", b"{\"sessionId\":\"s\",\"messages\":[]}");
    transcripts.write("p/logs.json", b"[]");
    let report = transcripts.import(&*store);
    let named: Vec<_> = report.remarks.iter().map(|remark| remark.what.as_str()).collect();
    let old = "is of an old Gemini CLI and left out: resume it there, which makes JSON lines of it";
    assert_eq!((named, report.files.found, kept(&*store).as_str()), (vec![old], 0, ""));
}

#[test]
fn every_line_is_an_event_byte_for_byte_and_importing_twice_adds_nothing() {
    let (transcripts, store) = (Transcripts::of(Tool::Gemini, "0.61.0"), store());
    transcripts.import(&*store);
    let files = fixture(Tool::Gemini, "0.61.0");
    let (_, bytes) = files.iter().find(|(name, _)| name.ends_with(".jsonl")).unwrap();
    let lines: Vec<String> =
        std::str::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect();
    let found = events(&*store, &session(&*store, MAIN)).into_iter();
    let found = found.filter(|event| event.kind != "usage");
    assert_eq!(found.map(|event| event.data.as_str().to_owned()).collect::<Vec<_>>(), lines);
    let before = (kept(&*store), log(&*store));
    let again = transcripts.import(&*store);
    assert_eq!((again.files.unchanged, again.records.imported), (1, 0));
    assert_eq!((kept(&*store), log(&*store)), before);
}

#[test]
fn a_sub_agent_is_a_child_and_a_project_without_a_known_directory_is_its_place() {
    let (transcripts, store) = (Transcripts::new(Tool::Gemini), store());
    let child = [head("helper-1", "subagent"), said("c1", "user", json!([{"text": "look"}]))];
    transcripts.write("p/chats/s1/helper-1.jsonl", &text(&child));
    let main = [head("s1", "main"), said("m1", "user", json!("begin"))];
    transcripts.write("p/chats/session-x-s1.jsonl", &text(&main));
    transcripts.import(&*store);
    let (main, child) = (session(&*store, "s1"), session(&*store, "helper-1"));
    assert_eq!(child.origin.unwrap().external_id, "s1/helper-1");
    assert_eq!((child.parent_session_id, child.title.as_deref()), (Some(main.id), Some("look")));
    assert!(main.repo.root_path.unwrap().ends_with("/p"));
}

#[test]
fn what_was_taken_back_is_kept_and_not_shown() {
    let (transcripts, store) = (Transcripts::new(Tool::Gemini), store());
    let call = json!([{"id": "call", "name": "ls", "args": {}, "status": "executing"}]);
    let mut asked = said("a2", "gemini", json!("wrong"));
    asked["toolCalls"] = call;
    let lines = [
        head("s1", "main"),
        said("u1", "user", json!([{"text": "one"}])),
        said("a1", "gemini", json!("first")),
        said("u2", "user", json!([{"text": "two"}])),
        asked,
        json!({"$rewindTo": "u2"}),
        said("u3", "user", json!([{"text": "three"}])),
        said("e1", "error", json!("quota")),
        json!({"$set": {"summary": "A summary"}}),
        json!(["odd"]),
    ];
    transcripts.write("p/chats/session-x-s1.jsonl", &text(&lines));
    transcripts.import(&*store);
    let found = session(&*store, "s1");
    assert_eq!(told(&*store, &found), "user: one\nassistant: first\nuser: three");
    assert_eq!(
        kinds(&*store, &found),
        "session_start user_message assistant_message user_message assistant_message rewind \
         user_message gemini.error gemini.$set gemini.unknown"
    );
    assert_eq!(found.title.as_deref(), Some("A summary"));
    assert_eq!(found.labels.0.get("turn").map(String::as_str), Some("unended"));
}

#[test]
fn a_failed_call_and_a_line_that_is_no_json_cost_nothing_else() {
    let (transcripts, store) = (Transcripts::new(Tool::Gemini), store());
    let mut asked = said("a1", "gemini", json!(""));
    asked["toolCalls"] = json!([{
        "id": "call", "name": "ls", "args": {"dir": "/"}, "status": "error",
        "result": [{"functionResponse": {"id": "call", "name": "ls", "response": {"error": "no"}}}],
    }]);
    asked["tokens"] = json!({"input": 100, "output": 7, "cached": 30, "thoughts": 5, "tool": 2});
    let mut bytes = text(&[head("s1", "main"), asked]);
    bytes.extend_from_slice(b"{torn\n");
    transcripts.write("p/chats/session-x-s1.jsonl", &bytes);
    let report = transcripts.import(&*store);
    assert_eq!(report.records.kept_raw, 1);
    assert_eq!(
        told(&*store, &sessions(&*store)[0]),
        "assistant: ls call {\"dir\":\"/\"}\ntool call failed: no"
    );
    assert_eq!(crate::transcript::tokens(sessions(&*store)[0].usage), "72/7/30/0/5");
}
