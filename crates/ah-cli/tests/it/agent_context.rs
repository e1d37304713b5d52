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
fn nothing_is_advised_that_would_be_refused() {
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    home.json(&["agent", "reset", "bob"]);
    let said = |arguments: &[&str]| {
        let output = home.run(&[&["agent", "context", "bob"], arguments].concat());
        home.steady_text(&errors(&output))
    };
    let nothing = "session ID says nothing\n";
    assert_eq!(said(&["--session", &first]), nothing, "what is said goes elsewhere");
    home.json(&["agent", "retire", "bob"]);
    assert_eq!(said(&[]), nothing, "the dead are not spoken to");
    crashed(&home, "joe");
    home.json(&["agent", "retire", "joe"]);
    let open = errors(&home.run(&["agent", "context", "joe"]));
    assert_eq!(open, "call c2 of write (event 2) has no answer\n", "nor repaired");
}

#[test]
fn an_answer_stands_behind_its_call_however_late_it_came() {
    let home = Home::new();
    crashed(&home, "bob");
    home.json(&["agent", "repair", "bob"]);
    home.json(&["agent", "say", "bob", "go on"]);
    append(&home, "bob", "tool_result", r#"{"toolCallId":"c2","content":"late"}"#);
    append(&home, "bob", "pre_tool", r#"{"toolName":"grep"}"#);
    let context = home.json(&["agent", "context", "bob"]);
    let seqs: Vec<_> = context["messages"].as_array().unwrap().iter().map(|m| &m["seq"]).collect();
    assert_eq!(seqs, [1, 2, 3, 6, 5, 7], "in the place of the repair");
    let call = context["pendingCalls"][0]["id"].as_str().unwrap();
    let digest = call.strip_prefix("call-7-").unwrap();
    assert!(digest.len() == 8 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{call}");
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
        "not shown: 1 record without a meaning here; `ah agent history bob --all` prints all\n\
         left out: 1 older record; `--records 3` asks for more\n"
    );
    let context = home.json(&["agent", "context", "bob", "--records", "1"]);
    assert_eq!([&context["records"], &context["omitted"]], [1, 2]);
    for records in ["0", "100001", "-1", "many"] {
        for verb in ["context", "repair"] {
            home.refused(&["agent", verb, "bob", &format!("--records={records}")], 2);
        }
    }
}

#[test]
fn what_is_too_large_for_any_context_is_in_the_history() {
    let home = Home::new();
    home.create_agent("bob");
    let line = format!("{{\"type\":\"note\",\"data\":\"{}\"}}\n", "x".repeat(12 * 1024 * 1024));
    let append = ["agent", "append", "bob", "--stdin-jsonl"];
    assert!(home.feed(&append, line.repeat(3).as_bytes()).status.success());
    let said = errors(&home.run(&["agent", "context", "bob"]));
    let left_out = "left out: 1 older record; `ah agent history bob --all` prints all\n";
    assert!(said.ends_with(left_out), "{said}");
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
    assert_eq!(again, "nothing to close in session ID\n");
    let session = home.active_session("bob");
    let done = |last: u64, appended: u64| {
        json!({
            "sessionId": session, "lastSeq": last, "appended": appended, "pendingCalls": [],
            "openRlms": [],
        })
    };
    assert_eq!(home.json(&["agent", "repair", "bob"]), done(4, 0));
    let context = home.json(&["agent", "context", "bob"]);
    assert_eq!(context["pendingCalls"], json!([]));
    let answer = &context["messages"][3];
    assert_eq!([&answer["toolCallId"], &answer["isError"]], [&json!("c2"), &json!(true)]);
    append(&home, "bob", "assistant_message", &CALL.replace("c1", "c3").replace("c2", "c4"));
    assert_eq!(home.json(&["agent", "repair", "bob"]), done(7, 2));
}

#[test]
fn repair_reads_as_far_as_the_context_did_that_showed_what_is_open() {
    let home = Home::new();
    crashed(&home, "bob");
    home.json(&["agent", "say", "bob", "anybody there?"]);
    let output = home.run(&["agent", "context", "bob", "--records", "3"]);
    assert_eq!(
        errors(&output),
        "call c2 of write (event 2) has no answer\n\
         `ah agent repair bob --records 3` closes what a crash left open\n\
         left out: 1 older record; `--records 4` asks for more\n"
    );
    let repair = |records| home.human(&["agent", "repair", "bob", "--records", records]);
    let closed = |text: &str| home.steady_text(text);
    assert_eq!(closed(&repair("1")), "nothing to close in session ID\n", "it stands before that");
    assert_eq!(closed(&repair("3")), "1 closed in session ID\n");
}

#[test]
fn repair_leaves_what_can_go_on_and_says_so() {
    let home = Home::new();
    crashed(&home, "bob");
    append(&home, "bob", "rlm_start", r#"{"toolCallId":"c2"}"#);
    append(&home, "bob", "rlm_tool_call", r#"{"toolCallId":"c2","snapshot":"s"}"#);
    let session = home.active_session("bob");
    let output = home.run(&["agent", "repair", "bob"]);
    assert_eq!(home.steady_text(shape(&output).1), "nothing to close in session ID\n");
    let left = "call c2 of write (event 2) has no answer\n\
                the program of call c2 (event 4) has not ended, it can go on from event 5\n";
    assert_eq!(errors(&output), left);
    assert_eq!(errors(&home.run(&["agent", "context", "bob"])), left);
    let answer = home.json(&["agent", "repair", "bob"]);
    let resume = json!({ "sessionId": session, "seq": 5 });
    assert_eq!([&answer["appended"], &answer["openRlms"][0]["resume"]], [&json!(0), &resume]);
    home.json(&["agent", "fork", "bob"]);
    assert_eq!(
        errors(&home.run(&["agent", "context", "bob"])),
        left.replace("event 2", &format!("event 2 of session {session}"))
            .replace("event 4", &format!("event 4 of session {session}"))
            .replace("event 5", &format!("event 5 of session {session}"))
    );
}

#[test]
fn restore_repairs_and_reads_the_active_and_only_knows_the_sleeping() {
    let home = Home::new();
    for name in ["carl", "bob", "eve"] {
        crashed(&home, name);
    }
    let eve = home.json(&["agent", "restore", "eve"]);
    assert_eq!(eve["repaired"], 1);
    assert_eq!(eve["context"], home.json(&["agent", "context", "eve"]), "with its repair");
    home.json(&["agent", "retire", "eve"]);
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
