//! What is told again, in the shapes of the programs that do so.

use super::tests::{lines, of};

const ASKED: &str = r#"{"id":"u1","type":"user","content":[{"text":"go"}]}"#;

#[test]
fn a_message_that_is_told_again_stays_in_its_place_with_its_newest_words() {
    let context = of(&[
        ("user_message", ASKED),
        ("assistant_message", r#"{"id":"a1","type":"gemini","content":"fir"}"#),
        ("user_message", r#"{"id":"u2","type":"user","content":"more"}"#),
        (
            "assistant_message",
            r#"{"id":"a1","type":"gemini","content":"first","toolCalls":[{"id":"c1","name":"ls","args":{}}]}"#,
        ),
        (
            "assistant_message",
            r#"{"id":"a1","type":"gemini","content":"first","toolCalls":[{"id":"c1","name":"ls","args":{},"result":[{"functionResponse":{"id":"c1","response":{"output":"x"}}}]}]}"#,
        ),
    ]);
    assert_eq!(
        lines(&context),
        ["user 1: go", "assistant 2: first | c1=ls({})", "tool 5 c1: x", "user 3: more"]
    );
    assert_eq!((context.pending_calls.len(), context.unread), (0, 0));
}

#[test]
fn what_was_taken_back_leaves_no_call_open_and_an_unknown_place_takes_back_all() {
    let called = r#"{"id":"a1","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"ls","args":{}}]}"#;
    let rewound = |id: &str| format!(r#"{{"$rewindTo":"{id}"}}"#);
    for (id, shown) in [("a1", vec!["user 1: go"]), ("u1", vec![]), ("gone", vec![])] {
        let back = rewound(id);
        let context =
            of(&[("user_message", ASKED), ("assistant_message", called), ("rewind", &back)]);
        assert_eq!(lines(&context), shown, "{id}");
        assert_eq!(context.pending_calls, [], "{id}");
    }
}

#[test]
fn parts_and_rows_of_opencode_are_one_telling() {
    let row =
        r#"{"id":"p1","message_id":"m1","session_id":"s","data":{"type":"text","text":"wor"}}"#;
    let event = r#"{"type":"message.part.updated.1","data":{"part":{"id":"p1","messageID":"m1","type":"text","text":"words"}}}"#;
    let tool = |state: &str| {
        format!(
            r#"{{"data":{{"part":{{"id":"p2","type":"tool","callID":"c1","tool":"bash","state":{state}}}}}}}"#
        )
    };
    let running = tool(r#"{"status":"running","input":{"a":1}}"#);
    let failed = tool(r#"{"status":"error","input":{"a":1},"error":"no"}"#);
    let file = r#"{"data":{"part":{"id":"p3","type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}}}"#;
    let context = of(&[
        ("assistant_message", row),
        ("assistant_message", &running),
        ("assistant_message", event),
        ("tool_result", &failed),
        ("user_message", file),
    ]);
    assert_eq!(
        lines(&context),
        [
            "assistant 1: words",
            r#"assistant 2: c1=bash({"a":1})"#,
            "tool 4 c1 failed: no",
            r#"user 5: file {"bytes":3,"mediaType":"image/png"}"#,
        ]
    );
}

#[test]
fn rows_of_goose_are_messages_calls_and_answers() {
    let said = r#"{"id":1,"message_id":"m1","role":"assistant","content_json":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"look"},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"ls","arguments":{}}}}]}"#;
    let answer = r#"{"id":2,"role":"user","content_json":[{"type":"toolResponse","id":"c1","toolResult":{"status":"error","error":"no such tool"}}]}"#;
    let context = of(&[("assistant_message", said), ("tool_result", answer)]);
    assert_eq!(
        lines(&context),
        ["assistant 1: look | c1=ls({})", "tool 2 c1 failed: no such tool"]
    );
}
