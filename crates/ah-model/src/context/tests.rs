//! Contexts as text: one line per message, so that a test shows a whole one.

use proptest::prelude::*;

use super::*;
use crate::{NewEvent, repairs};

const SESSION: &str = "s1";

fn event(seq: u64, kind: &str, data: &str) -> Event {
    Event {
        session_id: SESSION.parse().unwrap(),
        seq,
        ts: Timestamp::from_unix_ms(1_000 + i64::try_from(seq).unwrap()),
        kind: kind.to_owned(),
        data: RawJson::parse("data", data, 1_000_000).unwrap(),
        dedup_key: None,
    }
}

fn log(records: &[(&str, &str)]) -> Vec<Event> {
    (1..).zip(records).map(|(seq, (kind, data))| event(seq, kind, data)).collect()
}

fn seen(events: &[Event], omitted: u64, reason: Option<&ContextReason>) -> Context {
    let session_id = SESSION.parse().unwrap();
    let last_seq = events.last().map_or(0, |event| event.seq);
    context(&Window { session_id: &session_id, last_seq, reason, omitted, events })
}

pub(super) fn of(records: &[(&str, &str)]) -> Context {
    seen(&log(records), 0, None)
}

/// `role seq: parts` per message.
pub(super) fn lines(context: &Context) -> Vec<String> {
    let part = |part: &ContextPart| match part {
        ContextPart::Text(text) => text.to_string(),
        ContextPart::ToolCall(call) => {
            format!("{}={}({})", call.id, call.name, call.arguments.as_str())
        }
        ContextPart::File(file) => format!("file {}", file.as_str()),
        ContextPart::Other(json) => json.as_str().to_owned(),
    };
    let line = |message: &ContextMessage| {
        let parts: Vec<_> = message.content.iter().map(part).collect();
        let role = serde_json::to_string(&message.role).unwrap().replace('"', "");
        let seq = message.seq.map_or(String::new(), |seq| format!(" {seq}"));
        let call = message.tool_call_id.as_ref().map_or(String::new(), |id| format!(" {id}"));
        let failed = if message.is_error == Some(true) { " failed" } else { "" };
        format!("{role}{seq}{call}{failed}: {}", parts.join(" | "))
    };
    // Ids made up for events end with a digest of the session's.
    let digest = &to_hex(&Sha256::digest(SESSION.as_bytes()))[..8];
    context.messages.iter().map(|message| line(message).replace(digest, "ID")).collect()
}

#[test]
fn every_record_type_is_shown_or_passed_over_as_it_means() {
    let context = of(&[
        ("session_start", "{}"),
        ("user_message", r#"{"text":"read it","files":[{"id":"f1","name":"a.txt"}]}"#),
        (
            "assistant_message",
            r#"{"text":"on it","files":[],"toolCalls":[{"type":"toolCall","id":"c1","name":"read","arguments":{"p":1.0}}],"tokens":null}"#,
        ),
        ("rlm_start", r#"{"toolCallId":"c1","code":"x","preamble":""}"#),
        (
            "rlm_tool_call",
            r#"{"toolCallId":"c1","snapshot":"AA==","printOutput":[],"toolCallCount":0,"toolName":"t","toolArgs":{}}"#,
        ),
        (
            "rlm_tool_result",
            r#"{"toolCallId":"c1","toolName":"t","toolResult":"r","toolIsError":false}"#,
        ),
        (
            "rlm_complete",
            r#"{"toolCallId":"c1","output":"done","printOutput":[],"toolCallCount":1,"isError":false}"#,
        ),
        (
            "tool_result",
            r#"{"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"42"}],"isError":false},"files":[]}}"#,
        ),
        ("note", r#"{"text":"for later"}"#),
        ("message", r#"{"role":"assistant","content":"it is 42"}"#),
        ("pre_tool", r#"{"tool_name":"Bash","tool_input":{"command":"ls"}}"#),
        (
            "post_tool",
            r#"{"tool_name":"Bash","tool_input":{"command":"ls"},"tool_output":"a.txt"}"#,
        ),
        ("session_stop", r#"{"exit_code":0}"#),
        ("something_new", r#"{"text":"kept, not shown"}"#),
    ]);
    assert_eq!(
        lines(&context),
        [
            r#"user 2: read it | file {"id":"f1","name":"a.txt"}"#,
            r#"assistant 3: on it | c1=read({"p":1.0})"#,
            "tool 8 c1: 42",
            "assistant 10: it is 42",
            r#"assistant 11: call-11-ID=Bash({"command":"ls"})"#,
            "tool 12 call-11-ID: a.txt",
        ]
    );
    assert_eq!((context.records, context.unread, context.pending_calls.len()), (14, 0, 0));
    assert_eq!(context.open_rlms, []);
}

#[test]
fn the_reason_comes_first_unless_it_is_blank() {
    let at = Timestamp::from_unix_ms(7);
    let reason = |text: &str| ContextReason { cause: Cause::Reset, text: text.to_owned(), at };
    let events = log(&[("user_message", r#"{"text":"hello"}"#)]);
    let told = seen(&events, 0, Some(&reason("new topic")));
    assert_eq!(lines(&told), ["system: new topic", "user 1: hello"]);
    assert_eq!(told.messages[0].cause, Some(Cause::Reset));
    assert_eq!(lines(&seen(&events, 0, Some(&reason("  ")))), ["user 1: hello"]);
}

#[test]
fn a_rewrite_changes_its_target_and_nothing_else() {
    let said = r#"{"text":"one","toolCalls":[{"id":"c","name":"n","arguments":1}]}"#;
    let by = |rewrite: &str| {
        let records = [
            ("assistant_message", said),
            ("tool_result", r#"{"toolCallId":"c","content":"r"}"#),
            (
                "assistant_message",
                r#"{"content":[{"type":"text","text":"two"},{"type":"text","text":"more"}]}"#,
            ),
            ("assistant_rewrite", rewrite),
        ];
        lines(&of(&records)).join("; ")
    };
    let rest = "tool 2 c: r";
    for (rewrite, expected) in [
        (
            r#"{"assistantSeq":1,"text":"new"}"#,
            format!("assistant 1: new | c=n(1); {rest}; assistant 3: two | more"),
        ),
        (
            r#"{"assistantAt":1001,"text":"new"}"#,
            format!("assistant 1: new | c=n(1); {rest}; assistant 3: two | more"),
        ),
        // No time fits: the newest is meant; its words become one.
        (
            r#"{"assistantAt":5,"text":"new"}"#,
            format!("assistant 1: one | c=n(1); {rest}; assistant 3: new"),
        ),
        (r#"{"text":""}"#, format!("assistant 1: one | c=n(1); {rest}")),
        (
            r#"{"assistantSeq":9,"text":"new"}"#,
            format!("assistant 1: one | c=n(1); {rest}; assistant 3: two | more"),
        ),
    ] {
        assert_eq!(by(rewrite), expected, "{rewrite}");
    }
}

#[test]
fn rewriting_again_gives_what_the_last_one_says() {
    let mut records = vec![("assistant_message", r#"{"text":"one"}"#)];
    records.extend([("assistant_rewrite", r#"{"assistantSeq":1,"text":"two"}"#); 3]);
    assert_eq!(lines(&of(&records)), ["assistant 1: two"]);
}

#[test]
fn an_answer_to_no_call_is_counted_not_shown() {
    let orphan = [("tool_result", r#"{"toolCallId":"c0","content":"r"}"#)];
    assert_eq!((lines(&of(&orphan)).len(), of(&orphan).unread), (0, 1));
    // Its call may stand before the window.
    assert_eq!(seen(&log(&orphan), 5, None).unread, 0);
    let odd = [("user_message", "7"), ("message", r#"{"role":"narrator","content":"x"}"#)];
    assert_eq!((lines(&of(&odd)).len(), of(&odd).unread), (0, 2));
}

#[test]
fn hooks_that_tell_only_of_the_end_show_the_call_as_well() {
    let context = of(&[
        ("pre_tool", r#"{"tool_name":"A","tool_input":1}"#),
        ("pre_tool", r#"{"tool_name":"A","tool_input":2}"#),
        ("post_tool", r#"{"tool_name":"A","tool_input":1,"tool_output":"first"}"#),
        ("post_tool", r#"{"tool_name":"B","tool_input":3,"error":"no such file"}"#),
        ("pre_tool", r#"{"tool_name":"A","tool_input":4,"tool_use_id":"t4"}"#),
        ("post_tool", r#"{"tool_name":"A","tool_use_id":"t4","tool_output":{"x":1}}"#),
    ]);
    assert_eq!(
        lines(&context),
        [
            "assistant 1: call-1-ID=A(1)",
            "tool 3 call-1-ID: first",
            "assistant 2: call-2-ID=A(2)",
            "assistant 4: call-4-ID=B(3)",
            "tool 4 call-4-ID failed: no such file",
            "assistant 5: t4=A(4)",
            r#"tool 6 t4: {"x":1}"#,
        ]
    );
    let pending: Vec<_> = context.pending_calls.iter().map(|call| call.seq).collect();
    assert_eq!(pending, [2]);
}

/// The log after the repairs that its context asks for.
fn repaired(events: &[Event]) -> Vec<Event> {
    let mut log = events.to_vec();
    let new: Vec<NewEvent> = repairs(&seen(&log, 0, None)).unwrap();
    for repair in new {
        let seq = log.len() as u64 + 1;
        log.push(Event {
            dedup_key: repair.dedup_key,
            ..event(seq, &repair.kind, repair.data.as_str())
        });
    }
    log
}

#[test]
fn a_repair_closes_what_is_open_once_and_a_late_answer_takes_its_place() {
    let open = log(&[
        ("assistant_message", r#"{"toolCalls":[{"id":"c1","name":"n"},{"id":"c2","name":"n"}]}"#),
        ("tool_result", r#"{"toolCallId":"c2","content":"r2"}"#),
        ("rlm_start", r#"{"toolCallId":"old"}"#),
    ]);
    let closed = repaired(&open);
    assert_eq!(closed.len(), 5);
    assert_eq!(repaired(&closed), closed);
    let after = seen(&closed, 0, None);
    assert_eq!((after.pending_calls.len(), after.open_rlms.len()), (0, 0));
    assert!(lines(&after)[2].starts_with("tool 4 c1 failed:"), "{:?}", lines(&after));

    let mut late = closed;
    late.push(event(6, "user_message", r#""and?""#));
    late.push(event(7, "tool_result", r#"{"toolCallId":"c1","content":"r1"}"#));
    let shown = lines(&seen(&late, 0, None));
    assert_eq!(shown[1..], ["tool 2 c2: r2", "tool 7 c1: r1", "user 6: and?"]);
}

#[test]
fn a_program_that_can_go_on_is_left_with_its_call() {
    let open = log(&[
        (
            "assistant_message",
            r#"{"toolCalls":[{"id":"rp-9","name":"run_python"},{"id":"call-9","name":"n"}]}"#,
        ),
        ("rlm_start", r#"{"toolCallId":"rp-9"}"#),
        ("rlm_tool_call", r#"{"toolCallId":"rp-9","snapshot":"AA=="}"#),
    ]);
    let closed = repaired(&open);
    let after = seen(&closed, 0, None);
    let pending: Vec<_> = after.pending_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(pending, ["rp-9"]);
    let resume = ResumePoint { session_id: SESSION.parse().unwrap(), seq: 3 };
    assert_eq!(after.open_rlms[0].resume, Some(resume));
    assert_eq!(repaired(&closed), closed);
}

#[test]
fn an_older_program_that_can_go_on_is_left_when_the_newest_cannot() {
    let open = log(&[
        ("rlm_start", r#"{"toolCallId":"p"}"#),
        ("rlm_tool_call", r#"{"toolCallId":"p","snapshot":"AA=="}"#),
        ("rlm_start", r#"{"toolCallId":"q"}"#),
    ]);
    let after = seen(&repaired(&open), 0, None);
    let left: Vec<_> = after.open_rlms.iter().map(|rlm| rlm.tool_call_id.as_str()).collect();
    assert_eq!(left, ["p"]);
}

#[test]
fn every_call_of_an_event_is_closed_also_when_they_share_an_id() {
    let twice = r#"{"toolCalls":[{"id":"c","name":"x"},{"id":"c","name":"y"}]}"#;
    let copy = r#"{"messages":[{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x"}]},{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"y"}]}]}"#;
    for open in [log(&[("assistant_message", twice)]), log(&[("context_copy", copy)])] {
        let closed = repaired(&open);
        let keys: Vec<_> = closed.iter().filter_map(|event| event.dedup_key.as_deref()).collect();
        assert_eq!(keys, ["repair:s1:1:0", "repair:s1:1:1"]);
        assert_eq!(seen(&closed, 0, None).pending_calls, []);
    }
}

/// The first events are another session's, which this one was forked from.
fn forked(records: &[(&str, &str)], inherited: usize) -> Context {
    let mut events = log(records);
    for event in &mut events[..inherited] {
        event.session_id = "stem".parse().unwrap();
    }
    for (seq, event) in (1..).zip(&mut events[inherited..]) {
        event.seq = seq;
    }
    seen(&events, 0, None)
}

#[test]
fn what_was_inherited_means_the_same_in_every_fork() {
    let rewritten = [
        ("assistant_message", r#"{"text":"theirs"}"#),
        ("assistant_message", r#"{"text":"ours"}"#),
        ("assistant_rewrite", r#"{"assistantSeq":1,"text":"new"}"#),
    ];
    // Seq 1 is the fork's own, whatever stands before it.
    assert_eq!(lines(&forked(&rewritten, 1)), ["assistant 1: theirs", "assistant 1: new"]);
    let hooks = [
        ("pre_tool", r#"{"tool_name":"Bash","tool_input":1}"#),
        ("pre_tool", r#"{"tool_name":"Read","tool_input":2}"#),
        ("post_tool", r#"{"tool_name":"Read","tool_output":"r"}"#),
    ];
    let context = forked(&hooks, 1);
    assert_eq!(lines(&context)[1..], ["assistant 1: call-1-ID=Read(2)", "tool 2 call-1-ID: r"]);
    let pending: Vec<_> = context.pending_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(pending, ["Bash"]);
    let rlm = [
        ("rlm_start", r#"{"toolCallId":"p"}"#),
        ("rlm_tool_call", r#"{"toolCallId":"p","snapshotId":"s"}"#),
    ];
    let open = &forked(&rlm, 1).open_rlms[0];
    let resume = ResumePoint { session_id: SESSION.parse().unwrap(), seq: 1 };
    assert_eq!((open.session_id.as_str(), &open.resume), ("stem", &Some(resume)));
}

#[test]
fn odd_spellings_cost_no_message() {
    let context = of(&[
        ("user_message", r#"{"text":"kept","\ud800":1}"#),
        ("user_message", r#"{"text":"first","text":"last","files":7}"#),
        (
            "message",
            r#"{"role":"assistant","content":[{"id":"c","toolCallId":"x","name":"n","type":"tool_use"}]}"#,
        ),
        ("message", r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"r"}]}"#),
    ]);
    assert_eq!(
        lines(&context),
        ["user 1: kept", "user 2: last | file 7", "assistant 3: c=n(null)", "tool 4 c: r"]
    );
}

#[test]
fn a_list_of_more_parts_than_anybody_means_is_shown_as_it_is() {
    let list = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    let shown = |count: usize| {
        let data = format!(r#"{{"content":{}}}"#, list(count));
        of(&[("user_message", &data)]).messages[0].content.len()
    };
    assert_eq!((shown(MESSAGE_PARTS_MAX), shown(MESSAGE_PARTS_MAX + 1)), (MESSAGE_PARTS_MAX, 1));
    let data = format!(r#"{{"content":{}}}"#, list(MESSAGE_PARTS_MAX));
    let full = CONTEXT_PARTS_MAX / MESSAGE_PARTS_MAX;
    let records = vec![("user_message", data.as_str()); full + 1];
    assert_eq!(of(&records).messages[full].content.len(), 1);
}

#[test]
fn texts_that_are_no_text_come_out_byte_for_byte() {
    let context = of(&[("user_message", r#"{"text":"half \ud83d, nul \u0000"}"#)]);
    let json = serde_json::to_string(&context.messages).unwrap();
    assert!(json.contains(r#"{"type":"text","text":"half \ud83d, nul \u0000"}"#), "{json}");
}

#[test]
fn messages_of_a_kept_copy_stand_in_for_a_history() {
    let context = of(&[(
        "context_copy",
        r#"{"messages":[{"role":"user","content":"hi","timestamp":1},{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}]},{"role":"toolResult","toolCallId":"c","toolName":"n","content":[{"type":"text","text":"r"}],"isError":false}]}"#,
    )]);
    assert_eq!(lines(&context), ["user 1: hi", "assistant 1: c=n({})", "tool 1 c: r"]);
}

fn any_record() -> impl Strategy<Value = (String, String)> {
    let kinds = prop::sample::select(vec![
        "user_message",
        "assistant_message",
        "tool_result",
        "assistant_rewrite",
        "pre_tool",
        "post_tool",
        "rlm_start",
        "rlm_tool_call",
        "rlm_complete",
        "message",
        "note",
    ]);
    let data = prop::sample::select(vec![
        r#"{"text":"a","toolCalls":[{"id":"c1","name":"n"}]}"#,
        r#"{"text":"b","toolCalls":[{"id":"c2","name":"n"},{"id":"c1","name":"m"}]}"#,
        r#"{"toolCallId":"c1","content":"r","snapshot":"AA"}"#,
        r#"{"toolCallId":"c2","tool_name":"n","output":[]}"#,
        r#"{"tool_name":"n","tool_input":1}"#,
        r#"{"assistantAt":1002,"text":"new"}"#,
        r#"{"role":"user","content":"x"}"#,
        "null",
        "[1,2]",
    ]);
    (kinds, data).prop_map(|(kind, data)| (kind.to_owned(), data.to_owned()))
}

proptest! {
    #[test]
    fn any_log_gives_one_context_whose_answers_follow_their_calls(
        records in prop::collection::vec(any_record(), 0..40),
    ) {
        let records: Vec<_> = records.iter().map(|(k, d)| (k.as_str(), d.as_str())).collect();
        let context = of(&records);
        prop_assert_eq!(&context, &of(&records));
        let mut called = Vec::new();
        for message in &context.messages {
            called.extend(message.content.iter().filter_map(|part| match part {
                ContextPart::ToolCall(call) => Some(call.id.clone()),
                _ => None,
            }));
            if let Some(id) = &message.tool_call_id {
                prop_assert!(called.contains(id), "{} before its call", id);
            }
        }
    }

    #[test]
    fn a_repair_of_any_log_leaves_nothing_to_repair(
        records in prop::collection::vec(any_record(), 0..40),
    ) {
        let records: Vec<_> = records.iter().map(|(k, d)| (k.as_str(), d.as_str())).collect();
        let closed = repaired(&log(&records));
        prop_assert_eq!(&repaired(&closed), &closed);
    }
}

#[test]
fn lines_of_transcripts_are_read_where_they_keep_what_was_said() {
    let context = of(&[
        ("user_message", r#"{"type":"user","message":{"role":"user","content":"look"}}"#),
        (
            "assistant_message",
            r#"{"message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I do"},{"type":"tool_use","id":"c1","name":"See","input":{}}]}}"#,
        ),
        (
            "tool_result",
            r#"{"message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAECAw=="}}]},{"type":"text","text":"and this"}]}}"#,
        ),
        (
            "assistant_message",
            r#"{"payload":{"type":"function_call","name":"echo","namespace":"mcp__probe","call_id":"c2","arguments":"{\"a\":1}"}}"#,
        ),
        ("tool_status", r#"{"payload":{"item":{"id":"c2","status":"failed"}}}"#),
        (
            "tool_result",
            r#"{"payload":{"type":"function_call_output","call_id":"c2","output":"no"}}"#,
        ),
        ("claude-code.attachment", r#"{"attachment":{}}"#),
    ]);
    assert_eq!(
        lines(&context),
        [
            "user 1: look",
            "assistant 2: I do | c1=See({})",
            "tool 3 c1: file {\"bytes\":4,\"mediaType\":\"image/png\"}",
            "user 3: and this",
            "assistant 4: c2=mcp__probe__echo({\"a\":1})",
            "tool 6 c2 failed: no",
        ]
    );
    assert_eq!((context.unread, context.pending_calls), (0, vec![]));
}

/// A log whose records that begin with `hook/` were written by hooks, and with `stream/` by who read
/// a stream.
fn hooked(records: &[(&str, &str)]) -> Context {
    let mut events = Vec::new();
    for (seq, (kind, data)) in (1..).zip(records) {
        let (by, kind) = kind.split_once('/').unwrap_or(("", kind));
        let dedup_key = (!by.is_empty()).then(|| format!("{by}/{seq}"));
        events.push(Event { dedup_key, ..event(seq, kind, data) });
    }
    seen(&events, 0, None)
}

#[test]
fn what_hooks_told_is_shown_until_the_transcript_tells_it() {
    let prompt = ("hook/message", r#"{"prompt":"go","prompt_id":"p1"}"#);
    let child = ("hook/pre_tool", r#"{"tool_name":"Sub","tool_use_id":"x9"}"#);
    let call = ("hook/pre_tool", r#"{"tool_name":"Bash","tool_use_id":"c1","tool_input":{}}"#);
    let answer =
        ("hook/post_tool", r#"{"tool_name":"Bash","tool_use_id":"c1","tool_response":"ok"}"#);
    let stop = ("hook/session_stop", r#"{"last_assistant_message":"done"}"#);
    let hooks = [prompt, child, call, answer, stop];
    let alone = [
        "user 1: go",
        "assistant 2: x9=Sub(null)",
        "assistant 3: c1=Bash({})",
        "tool 4 c1: ok",
        "assistant 5: done",
    ];
    assert_eq!(lines(&hooked(&hooks)), alone);
    let transcript = [
        ("user_message", r#"{"promptId":"p1","message":{"content":"go"}}"#),
        (
            "assistant_message",
            r#"{"message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}"#,
        ),
        (
            "tool_result",
            r#"{"message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}}"#,
        ),
        ("assistant_message", r#"{"message":{"content":[{"type":"text","text":"done"}]}}"#),
    ];
    let shown = |records: &[(&str, &str)]| {
        let messages = hooked(records).messages;
        let unnumbered = messages.into_iter().map(|said| ContextMessage { seq: None, ..said });
        lines(&Context { messages: unnumbered.collect(), ..hooked(&[]) })
    };
    for told in 0..=transcript.len() {
        let part = &transcript[..told];
        let first = shown(&[&hooks[..], part].concat());
        let last = shown(&[part, &hooks[..]].concat());
        let mut whole =
            vec!["user: go", "assistant: c1=Bash({})", "tool c1: ok", "assistant: done"];
        if told < 2 {
            // Whose call it was is known when the transcript has told a later one.
            whole.insert(1, "assistant: x9=Sub(null)");
        }
        assert_eq!(first, whole, "{told} lines after the hooks");
        assert_eq!(last, whole, "{told} lines before the hooks");
    }
}

#[test]
fn what_a_stream_told_is_shown_until_a_rollout_tells_it() {
    let stream = [
        ("stream/message", r#"{"prompt":"go"}"#),
        ("stream/assistant_message", r#"{"item":{"type":"agent_message","text":"look"}}"#),
        (
            "stream/pre_tool",
            r#"{"item":{"id":"i1","type":"command_execution","command":"/bin/bash -lc 'echo hi'"}}"#,
        ),
        (
            "stream/post_tool",
            r#"{"item":{"id":"i1","type":"command_execution","command":"/bin/bash -lc 'echo hi'","aggregated_output":"hi","exit_code":1,"status":"failed"}}"#,
        ),
        ("stream/assistant_message", r#"{"item":{"type":"agent_message","text":"done"}}"#),
    ];
    let alone = [
        "user 1: go",
        "assistant 2: look",
        r#"assistant 3: i1=Bash("/bin/bash -lc 'echo hi'")"#,
        "tool 4 i1 failed: hi",
        "assistant 5: done",
    ];
    assert_eq!(lines(&hooked(&stream)), alone);
    let said = |text: &str| {
        format!(
            r#"{{"payload":{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}}}"#
        )
    };
    let (look, done) = (said("look"), said("done"));
    let rollout = [
        ("user_message", r#"{"payload":{"type":"user_message","message":"go"}}"#),
        ("assistant_message", look.as_str()),
        (
            "assistant_message",
            r#"{"payload":{"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{\"cmd\":\"echo hi\"}"}}"#,
        ),
        (
            "tool_result",
            r#"{"payload":{"type":"function_call_output","call_id":"c1","output":"hi"}}"#,
        ),
        ("assistant_message", done.as_str()),
    ];
    let expected = lines(&hooked(&rollout));
    assert_eq!(lines(&hooked(&[&rollout[..], &stream].concat())), expected);
    let both = hooked(&[&stream[..], &rollout].concat()).messages;
    assert_eq!(both.iter().map(|said| said.seq).collect::<Vec<_>>(), [6, 7, 8, 9, 10].map(Some));
}

#[test]
fn a_prompt_that_only_a_hook_told_stands_before_what_a_stream_told() {
    let call =
        r#"{"message":{"content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]}}"#;
    let records = [
        ("hook/message", r#"{"prompt":"go"}"#),
        ("assistant_message", call),
        ("hook/pre_tool", r#"{"tool_name":"Bash","tool_use_id":"c1","tool_input":{}}"#),
    ];
    assert_eq!(lines(&hooked(&records)), ["user 1: go", "assistant 2: c1=Bash({})"]);
}
