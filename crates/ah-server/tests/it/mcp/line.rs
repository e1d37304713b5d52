//! Lines that are no messages: answered, and the connection lives on.

use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::Wire;

const MIB: usize = 1024 * 1024;

#[test]
fn what_is_no_message_is_answered_and_does_not_end_the_connection() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    for (line, code, id) in [
        ("nonsense", -32700, Value::Null),
        (r#"{"jsonrpc":"2.0","id":7,"#, -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("7", -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":8,"method":"tools/list"}"#, -32600, json!(8)),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[]}"#, -32600, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{}}"#, -32602, json!(10)),
    ] {
        alice.send(line);
        let answer = alice.answer();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{line}: {answer}"
        );
    }
    // Nobody waits for an answer to these.
    alice.send("");
    alice.send(r#"{"jsonrpc":"2.0","method":"notifications/of-another-time","params":7}"#);
    assert_eq!(alice.tool("whoami", json!({}))["name"], "alice");
}

#[test]
fn a_line_without_end_is_refused_and_not_held() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(17 * MIB));
    alice.send(&line);
    let answer = alice.answer();
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(answer["error"]["message"], format!("a message has more than {} bytes", 16 * MIB));
    assert_eq!(alice.tool("whoami", json!({}))["name"], "alice");
}

#[test]
fn a_body_that_is_too_large_is_a_refusal_of_the_tool() {
    let harbor = Harbor::new();
    for (way, mut alice) in harbor.ways("alice") {
        let body = "x".repeat(MIB + 1);
        let (code, reason) = alice.refused("send", json!({ "to": ["bob"], "body": body }));
        assert_eq!(code, "invalid", "{way}: {reason}");
        assert!(reason.contains("1048577"), "{way}: {reason}");
    }
}

#[test]
fn unknown_tools_and_methods_are_errors_of_the_protocol() {
    let harbor = Harbor::new();
    for (way, mut alice) in harbor.ways("alice") {
        let answer = alice.exchange("tools/call", json!({ "name": "sudo", "arguments": {} }));
        assert_eq!(answer["error"]["code"], -32602, "{way}: {answer}");
        // What is not declared is not there, also where the SDK would answer with nothing.
        for method in ["tools/dance", "prompts/list"] {
            let answer = alice.exchange(method, json!({}));
            assert_eq!(answer["error"]["code"], -32601, "{way} {method}: {answer}");
        }
        // Changes are followed in the feed.
        let uri = "ah://sessions/s1";
        for (method, params) in [
            (
                "subscriptions/listen",
                json!({ "notifications": { "resourceSubscriptions": [uri] } }),
            ),
            ("resources/subscribe", json!({ "uri": uri })),
        ] {
            let answer = alice.exchange(method, params);
            assert_eq!(answer["error"]["code"], -32601, "{way} {method}: {answer}");
        }
    }
}

#[test]
fn wrong_arguments_are_refused_in_words_that_name_them() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    for (tool, arguments, part) in [
        ("send", json!({ "to": ["bob"] }), "body"),
        ("send", json!({ "to": "bob", "body": "b" }), "sequence"),
        ("send", json!({ "to": ["bob"], "body": "b", "colour": 1 }), "colour"),
        ("send", json!({ "to": ["../x"], "body": "b" }), "../x"),
        ("send", json!({ "to": [], "body": "b" }), "recipients"),
        ("recv", json!({ "waitSeconds": 241 }), "240"),
        ("recv", json!({ "max": 17 }), "17"),
        ("recv", json!({ "max": 0 }), "1 to 16"),
        ("recv", json!({ "leaseSeconds": 0 }), "lease"),
        ("ask", json!({ "text": " " }), "text"),
        ("ask", json!({ "text": "t", "to": "alice" }), "itself"),
        ("ask", json!({ "text": "t", "ttlSeconds": 0 }), "ttlMs"),
        ("list_messages", json!({ "page": { "limit": 0 } }), "limit"),
        ("list_messages", json!({ "page": { "cursor": "?" } }), "cursor"),
        ("search_history", json!({ "query": "" }), "query"),
        ("request_approval", json!({ "kind": "spawn" }), "spawn"),
    ] {
        let (code, reason) = alice.refused(tool, arguments.clone());
        assert_eq!(code, "invalid", "{tool} {arguments}: {reason}");
        assert!(reason.contains(part), "{tool} {arguments}: {reason}");
    }
}

#[test]
fn more_calls_than_one_connection_may_have_under_way_are_told_to_come_later() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let params = json!({ "name": "recv", "arguments": { "waitSeconds": 240 } });
    for _ in 0..65 {
        alice.begin("tools/call", params.clone());
    }
    let refused = alice.answer();
    assert_eq!(refused["result"]["structuredContent"]["code"], "busy", "{refused}");
    assert!(refused["result"]["structuredContent"]["retryAfterMs"].is_u64());
}
