//! Payloads of hooks: whatever a coding agent says is an event with a key that a store takes, or is
//! refused.

use ah_import::{HookCall, HookTool};
use ah_model::{RawJson, Redaction, Redactor, Timestamp};

pub(crate) const WORDS: &[&str] = &[
    "session_id",
    "hook_event_name",
    "agent_id",
    "agent_type",
    "tool_use_id",
    "tool_call_id",
    "tool_name",
    "tool_input",
    "timestamp",
    "prompt",
    "model",
    "cwd",
    "working_dir",
    "event",
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "SubagentStop",
    "BeforeAgent",
    "PreCompact",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    ":",
    ",",
    "{",
    "}",
    "[",
    "]",
    "null",
    "-1e999",
    "/",
    "..",
    "2026-01-01T00:00:00Z",
    "password=hunter2",
];

const RECORDED: [&str; 4] = [
    include_str!("../../../crates/ah-import/tests/it/fixtures/claude-code/hooks/tools.jsonl"),
    include_str!("../../../crates/ah-import/tests/it/fixtures/codex/hooks/lifecycle.jsonl"),
    include_str!("../../../crates/ah-import/tests/it/fixtures/gemini/hooks.jsonl"),
    include_str!("../../../crates/ah-import/tests/it/fixtures/goose/hooks.jsonl"),
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    RECORDED.iter().flat_map(|lines| lines.lines()).map(|line| line.as_bytes().to_vec()).collect()
}

pub(crate) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    take(&text);
    // As what a payload says: most changes to JSON leave none.
    let mut pieces = text.split('"').map(str::to_owned);
    let mut next = || pieces.next().unwrap_or_default();
    let made = serde_json::json!({
        "session_id": next(), "hook_event_name": next(), "agent_id": next(), "cwd": next(),
        "tool_use_id": next(), "timestamp": next(), "model": next(), "prompt": text,
    });
    take(&made.to_string());
}

fn take(text: &str) {
    let Ok(payload) = RawJson::parse("payload", text, usize::MAX) else { return };
    let (payload, _) = Redactor::clean(Redaction::On, payload);
    for tool in HookTool::ALL {
        let call = HookCall {
            tool,
            id: "0123456789abcdef".to_owned(),
            at: Timestamp::from_unix_ms(1_700_000_000_000),
            dir: None,
            session: None,
            payload: payload.clone(),
        };
        // What waits in a file is what it was.
        let kept = serde_json::to_vec(&call).expect("a call is plain data");
        assert_eq!(serde_json::from_slice::<HookCall>(&kept).expect("it was one"), call);
        let Ok(event) = call.event() else { continue };
        assert_eq!(call.event().as_ref(), Ok(&event));
        assert!(!event.events.is_empty());
        for event in &event.events {
            assert!(event.dedup_key.as_ref().expect("a key").starts_with("hook/"));
            assert_eq!(event.check(), Ok(()));
        }
    }
}
