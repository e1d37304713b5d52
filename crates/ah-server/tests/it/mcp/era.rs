//! The same story in every era and on every way in.

use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{Era, Lines, Wire};

#[test]
fn mail_goes_from_agent_to_agent_in_every_era_on_every_way_in() {
    let harbor = Harbor::new();
    let mut bob = harbor.lines("bob");
    for (way, mut alice) in harbor.ways("alice") {
        let sent = alice.tool("send", json!({ "to": ["bob"], "body": way }));
        let id = &sent["messages"][0]["id"];
        let got = bob.tool("recv", json!({ "waitSeconds": 5 }));
        let mail = &got["messages"][0];
        assert_eq!((&mail["id"], &mail["from"], &mail["body"]), (id, &json!("alice"), &json!(way)));
        let hold = json!({ "id": id, "delivery": mail["delivery"] });
        assert_eq!(bob.tool("ack", json!({ "messages": [hold] })), json!({ "ids": [id] }), "{way}");
    }
    assert_eq!(bob.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
}

#[test]
fn results_of_the_new_era_say_that_they_are_complete_and_private() {
    let harbor = Harbor::new();
    for (way, mut alice) in harbor.ways("alice") {
        let (tools, whoami) = (alice.done("tools/list", json!({})), json!({ "name": "whoami" }));
        let called = alice.done("tools/call", whoami);
        let new = alice.era() == Era::V2026_07_28;
        let complete = if new { json!("complete") } else { Value::Null };
        assert_eq!(tools["resultType"], complete, "{way}");
        assert_eq!(called["resultType"], complete, "{way}");
        let scope = if new { json!("private") } else { Value::Null };
        assert_eq!(tools["cacheScope"], scope, "{way}");
        let text = called["content"][0]["text"].as_str().unwrap();
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read, called["structuredContent"], "{way}");
    }
}

#[test]
fn who_discovers_first_may_then_go_on_in_either_era() {
    let harbor = Harbor::new();
    for era in Era::ALL {
        let socket = harbor.socket("agents/alice/mcp.sock");
        let mut lines = Lines::silent(&socket, Era::V2026_07_28);
        let found = lines.done("server/discover", json!({}));
        let versions = found["supportedVersions"].as_array().unwrap();
        assert!(versions.contains(&json!(era.version())), "{versions:?}");
        assert!(found["instructions"].as_str().unwrap().contains("recv"));
        if era.is_stateless() {
            assert_eq!(lines.tool("whoami", json!({}))["name"], "alice");
            continue;
        }
        let client = json!({ "name": "by-hand", "version": "1" });
        let hello =
            json!({ "protocolVersion": era.version(), "capabilities": {}, "clientInfo": client });
        assert_eq!(lines.done("initialize", hello)["protocolVersion"], era.version());
    }
    let mut http = harbor.http("alice", Era::V2026_07_28);
    let found = http.done("server/discover", json!({}));
    assert!(found["capabilities"]["tools"].is_object());
}

#[test]
fn a_version_that_nobody_knows_is_refused_with_those_that_are() {
    let harbor = Harbor::new();
    let mut lines = Lines::silent(&harbor.socket("agents/alice/mcp.sock"), Era::V2026_07_28);
    let mut message = Era::V2026_07_28.message(1, "tools/list", json!({}), &json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    lines.send(&message.to_string());
    let error = lines.answer()["error"].clone();
    assert!(
        error["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{error}"
    );
    // The handshake answers with one that it knows.
    let client = json!({ "name": "by-hand", "version": "1" });
    let hello =
        json!({ "protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": client });
    let mut lines = Lines::silent(&harbor.socket("agents/alice/mcp.sock"), Era::V2025_11_25);
    assert_eq!(lines.done("initialize", hello)["protocolVersion"], "2025-11-25");
}

#[test]
fn every_tool_says_what_it_takes_and_answers_in_schemas_that_stand_alone() {
    let harbor = Harbor::new();
    let tools = harbor.operator().done("tools/list", json!({}))["tools"].clone();
    let tools = tools.as_array().unwrap();
    assert!(tools.len() > 20, "{}", tools.len());
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["outputSchema"]["anyOf"].as_array().unwrap().len(), 2, "{tool}");
        assert!(!tool.to_string().contains("$ref"), "{tool}");
        assert!(!tool.to_string().contains(r#""format":"uint"#), "{tool}");
        assert!(tool["description"].as_str().unwrap().len() > 40, "{tool}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{tool}");
    }
    let read_only = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
    let names: Vec<_> = tools.iter().filter(read_only).map(|tool| tool["name"].clone()).collect();
    assert_eq!(
        names,
        [
            "whoami",
            "list_agents",
            "list_messages",
            "list_questions",
            "list_approvals",
            "search_history",
            "status"
        ]
    );
}
