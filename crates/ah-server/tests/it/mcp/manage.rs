//! What the manager and the operator do with agents.

use ah_model::{Lifecycle, SessionStatus};
use ah_store::{Sessions, block_on};
use serde_json::json;

use super::given::Harbor;
use super::wire::{Era, Lines, Wire};

fn manager(harbor: &Harbor) -> Lines {
    Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2025_11_25)
}

#[test]
fn the_manager_puts_agents_to_sleep_and_wakes_them() {
    let harbor = Harbor::new();
    let mut manager = manager(&harbor);
    assert_eq!(manager.tool("stop", json!({ "name": "alice" }))["lifecycle"], "sleeping");
    let alice = harbor.agent("alice");
    assert_eq!(alice.lifecycle, Lifecycle::Sleeping);
    let session = block_on(harbor.store.session(alice.active_session_id.unwrap())).unwrap();
    assert_eq!(session.status, SessionStatus::Cancelled);
    // A session that has ended is no reason to refuse.
    manager.tool("stop", json!({ "name": "Alice" }));
    assert_eq!(manager.tool("start", json!({ "name": "alice" }))["lifecycle"], "active");
}

#[test]
fn the_manager_destroys_others_but_not_itself() {
    let harbor = Harbor::new();
    let mut manager = manager(&harbor);
    assert_eq!(manager.tool("destroy", json!({ "name": "bob" }))["destroyed"], true);
    let (code, reason) = manager.refused("destroy", json!({ "name": "manager" }));
    assert_eq!(code, "conflict");
    assert!(reason.ends_with("is protected"), "{reason}");
    assert_eq!(manager.refused("destroy", json!({ "name": "nobody" })).0, "not-found");
    let names = |found: serde_json::Value| {
        let items = found["items"].as_array().unwrap().clone();
        items.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut living = names(manager.tool("list_agents", json!({})));
    living.sort();
    assert_eq!(living, ["alice", "manager"]);
    assert_eq!(names(manager.tool("list_agents", json!({ "dead": true }))).len(), 3);
}

#[test]
fn a_harbor_says_what_waits_in_it() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    alice.tool("ask", json!({ "text": "may I?", "waitSeconds": 0 }));
    alice.tool("send", json!({ "to": ["operator"], "body": "hello" }));
    let status = harbor.operator().tool("status", json!({}));
    for (part, count) in [
        ("activeAgents", 3),
        ("sleepingAgents", 0),
        ("pendingApprovals", 0),
        ("openQuestions", 1),
        ("mail", 1),
        ("deadMessages", 0),
    ] {
        assert_eq!(status[part], json!({ "count": count, "more": false }), "{part}");
    }
    assert_eq!(status["withoutSocket"], json!({}));
}

#[test]
fn the_operator_answers_and_acts_for_whom_it_names() {
    let harbor = Harbor::new();
    let mut operator = harbor.operator();
    assert_eq!(operator.tool("whoami", json!({}))["name"], "operator");
    operator.tool("send", json!({ "to": ["bob"], "body": "from above" }));
    operator.tool("send", json!({ "to": ["bob"], "body": "as alice", "from": "alice" }));
    let found = harbor.lines("bob").tool("recv", json!({ "max": 2 }));
    let from = |place: usize| found["messages"][place]["from"].clone();
    assert_eq!([from(0), from(1)], [json!("operator"), json!("alice")]);
    assert_eq!(
        operator.refused("send", json!({ "to": ["bob"], "body": "b", "from": "x" })).0,
        "not-found"
    );
    assert_eq!(operator.refused("purge", json!({ "name": "bob", "confirm": "rob" })).0, "invalid");
}
