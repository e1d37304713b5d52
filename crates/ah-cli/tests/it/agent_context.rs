//! `ah agent context`, `repair` and `restore`: what a model is shown again.

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::Home;

const CALL: &str = r#"{"text":"look","toolCalls":[{"id":"c1","name":"read","arguments":{"path":"x"}},{"id":"c2","name":"write","arguments":{}}]}"#;

fn append(home: &Home, name: &str, kind: &str, data: &str) {
    home.json(&["agent", "append", name, "--type", kind, "--data", data]);
}

/// An agent whose program stopped while two tools were at work.
fn crashed(home: &Home, name: &str) {
    home.create_agent(name);
    home.json(&["agent", "say", name, "hello"]);
    append(home, name, "assistant_message", CALL);
    append(home, name, "tool_result", r#"{"toolCallId":"c1","content":"done","isError":false}"#);
}

#[test]
fn a_context_is_the_same_bytes_in_every_process() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "hello"]);
    home.json(&["agent", "say", "bob", "hi \u{1f600}", "--role", "assistant"]);
    append(&home, "bob", "user_message", r#"{"text":"half \ud800 \u0000"}"#);
    let context = || home.human(&["agent", "context", "bob", "--json"]);
    let first = context();
    assert_eq!(first, context());
    assert!(first.contains(r#""text":"half \ud800 \u0000""#), "as it was written: {first}");
    let value: Value = serde_json::from_str(&first.replace("\\ud800", "")).unwrap();
    let message = |role: &str, seq: u64, text: &str| {
        json!({
            "role": role, "seq": seq, "ts": "TIME", "content": [{ "type": "text", "text": text }],
        })
    };
    let expected = json!({
        "sessionId": "ID", "lastSeq": 3, "records": 3, "omitted": 0, "unread": 0,
        "messages": [
            message("user", 1, "hello"),
            message("assistant", 2, "hi \u{1f600}"),
            message("user", 3, "half  \u{0}"),
        ],
        "pendingCalls": [], "openRlms": [],
    });
    assert_eq!(home.steady(value), expected);
}

#[test]
fn a_context_for_people_shows_who_said_what_and_what_is_open() {
    let home = Home::new();
    crashed(&home, "bob");
    let output = home.run(&["agent", "context", "bob"]);
    assert_eq!(
        home.steady_text(shape(&output).1),
        "user  #1  TIME\n  hello\n\n\
         assistant  #2  TIME\n  look\n  call c1: read {\"path\":\"x\"}\n  call c2: write {}\n\n\
         tool  #3  read  answers c1  TIME\n  done\n"
    );
    assert_eq!(
        errors(&output),
        "call c2 of write (event 2) has no answer\n\
         `ah agent repair bob` closes what a crash left open\n"
    );
    assert_eq!(home.json(&["agent", "context", "bob"])["lastSeq"], 3, "reading changes nothing");
}

#[test]
fn a_context_of_nothing_says_how_to_begin() {
    let home = Home::new();
    home.create_agent("bob");
    let output = home.run(&["agent", "context", "bob"]);
    let said = home.steady_text(&errors(&output));
    assert_eq!(said, "session ID says nothing; `ah agent say bob TEXT` adds to it\n");
    assert_eq!(shape(&output), (Some(0), ""));
}

#[test]
fn a_context_is_cut_to_the_newest_records_and_long_texts_for_people() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "old"]);
    home.json(&["agent", "say", "bob", &"z".repeat(2_500)]);
    append(&home, "bob", "tool_result", "{}");
    let output = home.run(&["agent", "context", "bob", "--records", "2"]);
    let text = home.steady_text(shape(&output).1);
    assert_eq!(text, format!("user  #2  TIME\n  {}…\n", "z".repeat(2_000)));
    assert_eq!(
        errors(&output),
        "not shown: 1 record without a meaning here; `ah agent history bob` prints all\n\
         left out: 1 older record; `--records 3` asks for all\n"
    );
    let context = home.json(&["agent", "context", "bob", "--records", "1"]);
    assert_eq!([&context["records"], &context["omitted"]], [1, 2]);
    for records in ["0", "100001", "-1", "many"] {
        home.refused(&["agent", "context", "bob", &format!("--records={records}")], 2);
    }
}

#[test]
fn a_context_of_an_earlier_session_can_be_read() {
    let home = Home::new();
    crashed(&home, "bob");
    let first = home.active_session("bob");
    home.json(&["agent", "reset", "bob"]);
    let output = home.run(&["agent", "context", "bob", "--session", &first[..13]]);
    assert!(shape(&output).1.contains("hello"));
    let said = errors(&output);
    assert_eq!(said, "call c2 of write (event 2) has no answer\n", "what ended is not repaired");
    assert_eq!(home.json(&["agent", "context", "bob"])["messages"], json!([]));
}

#[test]
fn nothing_in_a_context_moves_the_terminal() {
    let home = Home::new();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[31mred\u{9b}2J\u{202e}";
    home.json(&["agent", "create", "bob", "--kind", "tester", "--model", evil]);
    home.json(&["agent", "reset", "bob", "--message", evil]);
    home.json(&["agent", "say", "bob", evil]);
    let call = json!({ "toolCalls": [{ "id": evil, "name": evil, "arguments": [evil] }] });
    append(&home, "bob", "assistant_message", &call.to_string());
    for arguments in ["agent list", "agent show bob", "agent context bob", "agent sessions bob"] {
        let shown = home.on_terminal(arguments, &[], "");
        assert!(shown.contains('\u{fffd}'), "{arguments}: {shown:?}");
        let acts = |c: char| c.is_control() && !"\r\n\t".contains(c) || c == '\u{202e}';
        assert!(!shown.contains(acts), "{arguments}: {shown:?}");
    }
}

#[test]
fn repair_closes_what_is_open_once() {
    let home = Home::new();
    crashed(&home, "bob");
    let text = home.steady_text(&home.human(&["agent", "repair", "bob"]));
    assert_eq!(text, "1 closed in session ID\n");
    let again = home.steady_text(&home.human(&["agent", "repair", "bob"]));
    assert_eq!(again, "nothing was open in session ID\n");
    let session = home.active_session("bob");
    let nothing = json!({
        "sessionId": session, "firstSeq": null, "lastSeq": null, "appended": 0, "duplicates": 0,
    });
    assert_eq!(home.json(&["agent", "repair", "bob"]), nothing);
    let context = home.json(&["agent", "context", "bob"]);
    assert_eq!(context["pendingCalls"], json!([]));
    let answer = &context["messages"][3];
    assert_eq!([&answer["toolCallId"], &answer["isError"]], [&json!("c2"), &json!(true)]);
    append(&home, "bob", "assistant_message", &CALL.replace("c1", "c3").replace("c2", "c4"));
    let done = json!({
        "sessionId": session, "firstSeq": 6, "lastSeq": 7, "appended": 2, "duplicates": 0,
    });
    assert_eq!(home.json(&["agent", "repair", "bob"]), done);
}

#[test]
fn restore_repairs_and_reads_the_active_and_only_knows_the_sleeping() {
    let home = Home::new();
    for name in ["carl", "bob"] {
        crashed(&home, name);
    }
    for name in ["anna", "dora"] {
        home.create_agent(name);
    }
    home.json(&["agent", "sleep", "anna"]);
    home.json(&["agent", "retire", "dora"]);
    home.json(&["agent", "say", "anna", "while you sleep"]);
    let text = home.steady_text(&home.human(&["agent", "restore"]));
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NAME", "LIFECYCLE", "SESSION", "RECORDS", "MESSAGES", "REPAIRED"]);
    assert_eq!(lines[1], ["bob", "active", "ID", "4", "4", "1"]);
    assert_eq!(lines[2], ["carl", "active", "ID", "4", "4", "1"]);
    assert_eq!(lines[3], ["anna", "sleeping", "ID"]);
    assert_eq!(lines.len(), 4, "the dead are not restored");
    let again = home.human(&["agent", "restore", "--json"]);
    let restored: Vec<Value> =
        again.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = |name: &str, context: Value| json!({ "agent": home.json(&["agent", "show", name]), "context": context, "repaired": 0 });
    let context = |name: &str| home.json(&["agent", "context", name]);
    assert_eq!(restored[0], expected("bob", context("bob")));
    assert_eq!(restored[1], expected("carl", context("carl")));
    assert_eq!(restored[2], expected("anna", Value::Null));
}

#[test]
fn restore_takes_names_and_knows_when_there_is_nobody() {
    let home = Home::new();
    let nobody = home.run(&["agent", "restore"]);
    assert_eq!(shape(&nobody), (Some(0), ""));
    assert_eq!(errors(&nobody), "no agents to restore; `ah agent create NAME` makes one\n");
    assert_eq!(errors(&home.run(&["agent", "restore", "--json"])), "");
    home.create_agent("bob");
    home.create_agent("joe");
    let one = home.json(&["agent", "restore", "JOE"]);
    assert_eq!([&one["agent"]["name"], &one["context"]["records"]], [&json!("joe"), &json!(0)]);
}

#[test]
fn an_agent_that_cannot_be_restored_costs_itself_only() {
    let home = Home::new();
    for name in ["anna", "bob", "carl"] {
        home.create_agent(name);
        home.json(&["agent", "say", name, "hello"]);
    }
    home.damage("UPDATE agent_instances SET active_session_id = 'gone' WHERE name = 'bob'");
    let output = home.run(&["agent", "restore"]);
    assert_eq!(output.status.code(), Some(1));
    let names: Vec<_> = shape(&output).1.lines().map(|line| line.split(' ').next()).collect();
    assert_eq!(names, [Some("NAME"), Some("anna"), Some("carl")]);
    let said = errors(&output);
    assert!(said.starts_with("error: agent bob: session gone not found\n"), "{said}");
    let end =
        "error: 1 of 3 agents could not be restored\nhint: `ah db check` names what is damaged\n";
    assert!(said.ends_with(end), "{said}");
}
