//! Codex's own rollouts, as its versions wrote them, and what can happen to them.

use serde_json::{Value, json};

use crate::support::{events, store};
use crate::transcript::{
    Tool, Transcripts, fixture, kept, kinds, log, name, session, sessions, tokens, told, total,
};

const BASIC: &str = "01a1de19-4430-7be1-ae55-5bf887926e62";
const LIFE: &str = "01a1de19-99f6-7e73-8f48-e2a223d96017";
const FORK: &str = "01a1de19-c8fe-7f93-a070-a63d0e3bdb74";

#[test]
fn version_0_166_0_is_sessions_with_their_children() {
    let store = store();
    let report = Transcripts::of(Tool::Codex, "0.166.0").import(&*store);
    assert_eq!(
        kept(&*store),
        r#"01a1de19-4430-7be1-ae55-5bf887926e62 codex@0.166.0 idle "please do this" in /home/dev/project [model=gpt-5-codex] 2010/94/400/0/7 07:26:00..07:26:01
01a1de19-59b0-7160-b5ec-9d1e24e6dc94 codex@0.166.0 idle "all kinds of tools" in /home/dev/project [model=gpt-5-codex] 6150/315/1200/0/0 07:26:05..07:26:14
01a1de19-6795-7f92-8210-d2c1e6fdc0fb of 01a1de19-59b0-7160-b5ec-9d1e24e6dc94 codex@0.166.0 idle "::tool exec_command {\"cmd\":\"echo from-sub\"}" in /home/dev/project [agent-name=Pauli model=gpt-5-codex] 2010/101/400/0/0 07:26:09..07:26:11
01a1de19-7e4b-7323-89b0-053f685835b5 codex@0.166.0 idle "::tool mcp__probe/echo {\"text\":\"ping\"}" in /home/dev/project [model=gpt-5-codex] 5090/259/1000/0/0 07:26:15..07:26:20
01a1de19-99f6-7e73-8f48-e2a223d96017 codex@0.166.0 idle "::tool exec_command {\"cmd\":\"echo a\"}" in /home/dev/project [model=gpt-5-codex] 4020/202/800/0/0 07:26:22..07:26:32"#
    );
    assert_eq!((report.files.read, report.sessions.imported, report.records.kept_raw), (5, 5, 0));
}

/// Codex counts what a cache held as input: the sum of its records is ours of both.
#[test]
fn tokens_are_the_sum_of_the_records() {
    let store = store();
    Transcripts::of(Tool::Codex, "0.166.0").import(&*store);
    let lines = lines("0.166.0");
    let records = lines.iter().filter(|line| line["type"] == "token_usage_record");
    let input = records.map(|line| line["payload"]["usage"]["input_tokens"].as_u64().unwrap());
    let found = total(&*store);
    assert_eq!(found.input_tokens + found.cache_read_tokens, input.sum::<u64>());
    assert_eq!(tokens(found), "19280/971/3800/0/7");
}

#[test]
fn a_context_shows_each_prompt_answer_call_and_result_once_in_order() {
    let store = store();
    Transcripts::of(Tool::Codex, "0.166.0").import(&*store);
    assert_eq!(
        told(&*store, &session(&*store, BASIC)),
        r#"user: please do this\n::think let me look\n::say running it\n::too
assistant: running it
assistant: exec_command call_383990a800001_0 {"cmd":"echo hi"}
tool call_383990a800001_0: Chunk ID: e5d24b\nWall time: 0.0000 seconds\nProcess exited
assistant: all done"#
    );
    assert_eq!(
        told(&*store, &session(&*store, "9d1e24e6dc94")),
        r#"user: all kinds of tools\n::say first a pair\n::tool exec_command
assistant: first a pair
assistant: exec_command call_383990a800003_0 {"cmd":"echo one"}
tool call_383990a800003_0: Chunk ID: 27ff02\nWall time: 0.0000 seconds\nProcess exited
assistant: exec_command call_383990a800003_1 {"cmd":"echo two; exit 3"}
tool call_383990a800003_1 failed: Chunk ID: c81f78\nWall time: 0.0219 seconds\nProcess exited
assistant: mcp__probe__echo call_383990a800004_0 {"text":"refused"}
tool call_383990a800004_0 failed: Wall time: 0.4942 seconds\nOutput:
tool call_383990a800004_0 failed: MCP tool call requires approval, but approval policy is neve
assistant: exec_command call_383990a800005_0 {"cmd":"apply_patch <<EOF\n*** Begin Patch\n*** Add File: pa
tool call_383990a800005_0: Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time:
assistant: spawn_agent call_383990a800006_0 {"message":"::tool exec_command {\"cmd\":\"echo from-sub\"}\
tool call_383990a800006_0: {"agent_id":"01a1de19-6795-7f92-8210-d2c1e6fdc0fb","nickname
assistant: exec_command call_383990a800007_0 {"cmd":"sleep 3"}
tool call_383990a800007_0: Chunk ID: 87c96b\nWall time: 2.9956 seconds\nProcess exited
assistant: tools done"#
    );
    assert_eq!(
        kinds(&*store, &session(&*store, BASIC)),
        "session_start codex.task_started codex.message*2 codex.world_state codex.turn_context \
         codex.thread_settings_applied codex.message user_message codex.item_completed \
         codex.reasoning codex.item_completed assistant_message*2 codex.token_usage_record usage \
         codex.item_completed tool_result codex.token_count codex.item_completed \
         assistant_message codex.token_usage_record usage codex.token_count codex.task_complete"
    );
}

#[test]
fn version_0_89_0_repeats_its_totals_and_counts_once() {
    let store = store();
    Transcripts::of(Tool::Codex, "0.89.0").import(&*store);
    assert_eq!(
        kept(&*store),
        r#"01a1de11-3bd9-7c33-8c7c-eb845d6d89dd codex@0.89.0 idle "please" in /home/dev/project [model=gpt-5-codex] 4060/206/800/0/0 07:17:13..07:17:14"#
    );
    assert_eq!(
        told(&*store, &sessions(&*store)[0]),
        r#"user: please\n::say running\n::tool shell_command {"command":"echo
assistant: running
assistant: shell_command call_2457da8c00072_0 {"command":"echo hi"}
tool call_2457da8c00072_0: Exit code: 0\nWall time: 0 seconds\nOutput:\nhi\n
assistant: exec_command call_2457da8c00073_0 {"cmd":"echo hi2"}
tool call_2457da8c00073_0: unsupported call: exec_command
assistant: shell call_2457da8c00074_0 {"command":["bash","-lc","echo hi3"]}
tool call_2457da8c00074_0: {"output":"hi3\n","metadata":{"exit_code":0,"duration_second
assistant: all done"#
    );
}

#[test]
fn every_line_is_an_event_byte_for_byte_and_importing_twice_adds_nothing() {
    for version in ["0.166.0", "0.89.0"] {
        let (transcripts, store) = (Transcripts::of(Tool::Codex, version), store());
        transcripts.import(&*store);
        for (file, bytes) in fixture(Tool::Codex, version) {
            let found = sessions(&*store).into_iter().find(|session| file.contains(&name(session)));
            let lines: Vec<String> =
                std::str::from_utf8(&bytes).unwrap().lines().map(str::to_owned).collect();
            let events = events(&*store, &found.unwrap());
            let events = events.into_iter().filter(|event| event.kind != "usage");
            let kept: Vec<_> = events.map(|event| event.data.as_str().to_owned()).collect();
            assert_eq!(kept, lines, "{file}");
        }
        let before = (kept(&*store), log(&*store));
        let again = transcripts.import(&*store);
        assert_eq!((again.files.unchanged, again.records.imported), (again.files.found, 0));
        assert_eq!((kept(&*store), log(&*store)), before);
    }
}

fn lines(version: &str) -> Vec<Value> {
    let files = fixture(Tool::Codex, version);
    let lines = files.iter().flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A fork after the first turn of a thread, whose file begins at the parent's next ordinal.
fn forked(transcripts: &Transcripts) {
    let line = |ordinal: u64, kind: &str, payload: Value| {
        let time = format!("2026-11-15T07:27:{ordinal}.000Z");
        json!({"timestamp": time, "ordinal": ordinal, "type": kind, "payload": payload})
    };
    let meta = json!({
        "id": FORK, "forked_from_id": LIFE, "cwd": "/home/dev/project", "cli_version": "0.166.0",
    });
    let began = json!({"type": "task_started", "turn_id": "t"});
    let item = json!({"type": "UserMessage", "content": [{"type": "text", "text": "forked"}]});
    let said = json!({
        "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}],
    });
    let spent = json!({"input_tokens": 1200, "cached_input_tokens": 200, "output_tokens": 50});
    let lines = [
        line(19, "session_meta", meta),
        line(20, "event_msg", began),
        line(21, "event_msg", json!({"type": "item_completed", "item": item})),
        line(22, "response_item", said),
        line(23, "token_usage_record", json!({"response_id": "r9", "usage": spent})),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    transcripts.write(&format!("2026/rollout-2026-11-15T07-27-00-{FORK}.jsonl"), text.as_bytes());
}

#[test]
fn a_fork_goes_on_at_the_ordinal_before_its_first() {
    let (transcripts, store) = (Transcripts::of(Tool::Codex, "0.166.0"), store());
    forked(&transcripts);
    transcripts.import(&*store);
    let fork = session(&*store, FORK);
    assert_eq!(fork.forked_from.clone().unwrap().session_id, session(&*store, LIFE).id,);
    assert_eq!(
        told(&*store, &fork),
        r#"user: ::tool exec_command {"cmd":"echo a"}\n::say first turn
assistant: exec_command call_383990a800016_0 {"cmd":"echo a"}
tool call_383990a800016_0: Chunk ID: b7ec86\nWall time: 0.0000 seconds\nProcess exited
assistant: first turn
user: forked
assistant: yes"#
    );
    assert_eq!(tokens(fork.usage), "1000/50/200/0/0");
    assert_eq!(total(&*store).input_tokens, 20_280);
}

#[test]
fn a_turn_without_an_end_is_named_and_a_fork_of_an_unknown_thread_keeps_its_name() {
    let (transcripts, store) = (Transcripts::new(Tool::Codex), store());
    forked(&transcripts);
    transcripts.import(&*store);
    let labels = session(&*store, FORK).labels.0;
    let label = |key: &str| labels.get(key).map(String::as_str);
    assert_eq!((label("turn"), label("forked-from")), (Some("unended"), Some(LIFE)));
}

#[test]
fn a_prompt_that_is_told_in_two_forms_is_shown_once() {
    let (transcripts, store) = (Transcripts::new(Tool::Codex), store());
    let lines = [
        json!({"type": "session_meta", "payload": {"id": FORK, "cwd": "/p"}}),
        json!({"type": "event_msg", "payload": {"type": "user_message", "message": "hello"}}),
        json!({"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "UserMessage", "content": [{"type": "text", "text": "hello"}]}}}),
        json!({"type": "response_item", "payload": {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** Begin"}}),
        json!({"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "c", "output": {"content": "no", "success": false}}}),
        json!({"type": "response_item", "payload": {"type": "local_shell_call", "call_id": "s", "action": {"type": "exec", "command": ["ls"]}}}),
        json!({"type": "compacted", "payload": {"message": "summary", "replacement_history": []}}),
    ];
    let stamp = |line: &Value| {
        let mut line = line.clone();
        line["timestamp"] = json!("2026-11-15T07:27:00.000Z");
        format!("{line}\n")
    };
    let text: String = lines.iter().map(stamp).collect();
    transcripts.write(&format!("rollout-x-{FORK}.jsonl"), text.as_bytes());
    transcripts.import(&*store);
    let found = session(&*store, FORK);
    assert_eq!(
        told(&*store, &found),
        "user: hello\nassistant: apply_patch c \"*** Begin\"\ntool c failed: no\n\
         assistant: local_shell s {\"command\":[\"ls\"],\"type\":\"exec\"}\npending s"
    );
    assert!(kinds(&*store, &found).ends_with(" compaction"));
}
