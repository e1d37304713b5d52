//! Who somebody is, and that nothing it writes changes that.

use ah_model::TokenRole;
use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{Era, Http, Lines, Wire};

#[test]
fn nobody_acts_as_another() {
    let harbor = Harbor::new();
    let mut bob = harbor.lines("bob");
    let sent = bob.tool("send", json!({ "to": ["alice"], "body": "for alice" }));
    let id = &sent["messages"][0]["id"];
    for (way, mut alice) in harbor.ways("alice") {
        for (tool, arguments) in [
            ("send", json!({ "to": ["alice"], "body": "forged", "from": "bob" })),
            ("send", json!({ "to": ["alice"], "body": "forged", "from": "operator" })),
            ("recv", json!({ "agent": "bob", "waitSeconds": 0 })),
            ("ack", json!({ "agent": "bob", "messages": [] })),
            ("release", json!({ "agent": "bob", "id": id })),
            ("ask", json!({ "text": "t", "from": "bob", "waitSeconds": 0 })),
            ("answer", json!({ "questionId": "q", "values": ["v"], "from": "operator" })),
            ("withdraw_question", json!({ "questionId": "q", "from": "bob" })),
            ("request_approval", json!({ "kind": "dance", "agent": "bob" })),
            ("list_messages", json!({ "agent": "bob" })),
            ("list_questions", json!({ "agent": "operator" })),
            ("list_approvals", json!({ "agent": "bob" })),
            ("search_history", json!({ "query": "x", "agent": "bob" })),
        ] {
            let (code, reason) = alice.refused(tool, arguments);
            assert_eq!(code, "forbidden", "{way} {tool}: {reason}");
            assert!(
                reason.starts_with("you are alice and cannot act as"),
                "{way} {tool}: {reason}"
            );
        }
    }
    // Its own name, in any case of its letters, is no forgery.
    let got = harbor.lines("alice").tool("recv", json!({ "agent": "ALICE", "waitSeconds": 0 }));
    assert_eq!(got["messages"][0]["body"], "for alice");
}

#[test]
fn what_is_another_s_is_neither_read_nor_touched() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    let sent = alice.tool("send", json!({ "to": ["bob"], "body": "for bob" }));
    let id = sent["messages"][0]["id"].clone();
    let got = bob.tool("recv", json!({ "waitSeconds": 0 }));
    assert_eq!(got["messages"][0]["id"], id);
    let asked = bob.tool("ask", json!({ "text": "may I?", "waitSeconds": 0 }));
    let question = &asked["questionId"];
    for (tool, arguments) in [
        ("ack", json!({ "messages": [{ "id": id, "delivery": 1 }] })),
        ("release", json!({ "id": id, "delivery": 1 })),
        ("get_answer", json!({ "questionId": question })),
        // A question that was asked of somebody else is not hers to answer or to take back.
        ("answer", json!({ "questionId": question, "values": ["yes"] })),
        ("withdraw_question", json!({ "questionId": question })),
    ] {
        let (code, reason) = alice.refused(tool, arguments);
        assert_eq!(code, "forbidden", "{tool}: {reason}");
    }
    assert_eq!(bob.tool("get_answer", json!({ "questionId": question }))["outcome"], "open");
}

#[test]
fn tools_are_shown_and_done_by_what_one_may() {
    let harbor = Harbor::new();
    let agent = harbor.lines("alice").tools();
    let manager = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2025_11_25).tools();
    let operator = harbor.operator().tools();
    for (tool, shown) in [
        ("send", [true, true, true]),
        ("spawn", [false, true, true]),
        ("destroy", [false, true, true]),
        ("decide_approval", [false, false, true]),
        ("purge", [false, false, true]),
    ] {
        let names = [&agent, &manager, &operator];
        assert_eq!(names.map(|names| names.iter().any(|name| name == tool)), shown, "{tool}");
    }
    let (code, reason) = harbor.lines("alice").refused("destroy", json!({ "name": "bob" }));
    assert_eq!((code.as_str(), reason.as_str()), ("forbidden", "the tool destroy is not for you"));
    let mut manager = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2026_07_28);
    let decision = json!({ "approvalId": "a", "verdict": "approved" });
    assert_eq!(manager.refused("decide_approval", decision).0, "forbidden");
    assert_eq!(manager.tool("whoami", json!({}))["powers"], "manager");
}

#[test]
fn tokens_say_who_asks_over_http() {
    let harbor = Harbor::new();
    for (role, name, powers) in [
        (TokenRole::Agent, Some("alice"), Some("agent")),
        (TokenRole::Agent, Some("manager"), Some("manager")),
        (TokenRole::Operator, None, Some("admin")),
        (TokenRole::Admin, None, Some("admin")),
        (TokenRole::Viewer, None, None),
        (TokenRole::Executor, None, None),
        (TokenRole::Agent, Some("nobody"), None),
    ] {
        let token =
            harbor.token(&format!("{role}-{name:?}").replace(['"', '(', ')'], ""), role, name);
        let mut http = Http::open(harbor.address(), Some(token), Era::V2026_07_28);
        match powers {
            Some(powers) => {
                let whoami = http.tool("whoami", json!({}));
                assert_eq!(whoami["name"], name.unwrap_or("operator"), "{role}");
                assert_eq!(whoami["powers"], powers, "{role}");
            }
            None => {
                let message = http.message("tools/call", json!({ "name": "whoami" }));
                assert_eq!(http.post(&message, &[]).problem(), "403 forbidden", "{role} {name:?}");
            }
        }
    }
}

#[test]
fn the_session_of_a_call_is_what_the_program_says_in_its_meta() {
    let harbor = Harbor::new();
    for (meta, session, call) in [
        (json!({ "claudecode/toolUseId": "toolu_1" }), Value::Null, json!("toolu_1")),
        (json!({ "sessionId": "s", "threadId": "t", "callId": "c" }), json!("t"), json!("c")),
        (
            json!({ "agent-session-id": "20261115_1", "agent-tool-call-request-id": "g" }),
            json!("20261115_1"),
            json!("g"),
        ),
        (json!({ "sessionId": "\u{1b}[2J" }), Value::Null, Value::Null),
    ] {
        for (way, mut alice) in harbor.ways("alice") {
            *alice.meta() = meta.clone();
            let whoami = alice.tool("whoami", json!({}));
            assert_eq!((&whoami["session"], &whoami["toolCall"]), (&session, &call), "{way}");
            assert_eq!(whoami["name"], "alice", "{way}");
        }
    }
}
