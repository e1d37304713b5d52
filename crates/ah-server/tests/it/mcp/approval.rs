//! Approvals: asked for by agents, decided by the operator, heard of once.

use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{Era, Lines, Wire};

#[test]
fn a_decision_ends_the_wait_of_who_asked() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let request = json!({ "kind": "deploy", "reason": "ready", "details": { "to": "staging" } });
    let asked = alice.tool("request_approval", request);
    assert_eq!((&asked["status"], &asked["details"]["to"]), (&json!("pending"), &json!("staging")));
    let id = &asked["id"];
    let wait = json!({ "approvalId": id, "waitSeconds": 240 });
    alice.begin("tools/call", json!({ "name": "approval_status", "arguments": wait }));
    let mut operator = harbor.operator();
    let pending = operator.tool("list_approvals", json!({ "statuses": ["pending"] }));
    assert_eq!(pending["items"][0]["id"], *id);
    let approve = json!({ "approvalId": id, "verdict": "approved" });
    operator.tool("decide_approval", approve.clone());
    let decided = alice.answer()["result"]["structuredContent"].clone();
    assert_eq!(
        (&decided["status"], &decided["resolvedBy"]),
        (&json!("approved"), &json!("operator"))
    );
    // The same again is no change, another one is refused, and she is told no more.
    operator.tool("decide_approval", approve);
    let deny = json!({ "approvalId": id, "verdict": "denied", "note": "no" });
    assert_eq!(operator.refused("decide_approval", deny).0, "conflict");
    assert_eq!(alice.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
}

#[test]
fn an_approval_is_seen_and_taken_back_by_whom_it_is_about() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    let id = alice.tool("request_approval", json!({ "kind": "deploy" }))["id"].clone();
    assert_eq!(bob.refused("approval_status", json!({ "approvalId": id })).0, "forbidden");
    assert_eq!(bob.refused("withdraw_approval", json!({ "approvalId": id })).0, "forbidden");
    assert_eq!(bob.tool("list_approvals", json!({}))["items"], json!([]));
    let withdrawn = alice.tool("withdraw_approval", json!({ "approvalId": id }));
    assert_eq!(
        (&withdrawn["status"], &withdrawn["resolvedBy"]),
        (&json!("withdrawn"), &json!("alice"))
    );
}

#[test]
fn the_manager_asks_for_agents_and_sees_how_that_was_decided() {
    let harbor = Harbor::new();
    let mut manager = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2026_07_28);
    let spawn = json!({ "name": "carol", "kind": "codex@1", "model": "m", "reason": "reviews" });
    let asked = manager.tool("spawn", spawn.clone());
    assert_eq!((&asked["agent"], &asked["kind"]), (&json!("carol"), &json!("spawn")));
    let new = &asked["details"]["agent"];
    assert_eq!((&new["name"], &new["model"]), (&json!("carol"), &json!("m")));
    // It works where the manager does, unless it is said otherwise.
    assert_eq!(new["session"]["repo"]["rootPath"], "/r");
    // Asking again is the same request.
    assert_eq!(manager.tool("spawn", spawn)["id"], asked["id"]);
    let there = json!({ "name": "dave", "kind": "codex", "directory": "/elsewhere" });
    let there = manager.tool("spawn", there);
    assert_eq!(there["details"]["agent"]["session"]["repo"]["rootPath"], "/elsewhere");
    let deny = json!({ "approvalId": asked["id"], "verdict": "denied", "note": "enough" });
    harbor.operator().tool("decide_approval", deny);
    let status = manager.tool("approval_status", json!({ "approvalId": asked["id"] }));
    assert_eq!((&status["status"], &status["note"]), (&json!("denied"), &json!("enough")));
    for (spawn, code) in [
        (json!({ "name": "erin" }), "invalid"),
        (json!({ "name": "../x", "kind": "codex" }), "invalid"),
        (json!({ "name": "alice", "kind": "codex" }), "conflict"),
    ] {
        assert_eq!(manager.refused("spawn", spawn.clone()).0, code, "{spawn}");
    }
}

#[test]
fn a_destroyed_agent_comes_back_with_its_socket_once_that_is_approved() {
    let harbor = Harbor::new();
    let mut operator = harbor.operator();
    operator.tool("destroy", json!({ "name": "bob" }));
    let socket = harbor.socket("agents/bob/mcp.sock");
    super::given::assert_eventually("bob's socket is gone", || !socket.exists());
    let revived = operator.tool("revive", json!({ "name": "bob" }));
    assert_eq!((&revived["kind"], &revived["status"]), (&json!("spawn"), &json!("pending")));
    // The manager's way is the same request.
    let mut manager = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2025_11_25);
    assert_eq!(manager.tool("spawn", json!({ "name": "bob" }))["id"], revived["id"]);
    operator.tool("decide_approval", json!({ "approvalId": revived["id"], "verdict": "approved" }));
    super::given::assert_eventually("bob has a socket again", || socket.exists());
    assert_eq!(harbor.lines("bob").tool("whoami", json!({}))["name"], "bob");
}

#[test]
fn a_purge_leaves_a_receipt_and_a_free_name() {
    let harbor = Harbor::new();
    let mut operator = harbor.operator();
    operator.tool("send", json!({ "to": ["bob"], "body": "b" }));
    let receipt = operator.tool("purge", json!({ "name": "bob", "confirm": "bob" }));
    assert_eq!((&receipt["kind"], &receipt["subject"]), (&json!("purge"), &json!("bob")));
    assert_ne!(receipt["finishedAt"], Value::Null);
    assert_eq!(
        operator.refused("purge", json!({ "name": "bob", "confirm": "bob" })).0,
        "not-found"
    );
    let (code, reason) =
        operator.refused("purge", json!({ "name": "manager", "confirm": "manager" }));
    assert_eq!(code, "conflict", "{reason}");
    harbor.create("bob");
}
