//! Mail: leases, redelivery, and waiting.

use std::sync::Arc;
use std::thread;

use ah_model::{MessageStatus, NewMessage};
use ah_store::{Messages, block_on};
use serde_json::json;

use super::given::Harbor;
use super::wire::Wire;

#[test]
fn a_message_that_is_not_acknowledged_comes_again_and_says_so() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    alice.tool("send", json!({ "to": ["bob"], "body": "work" }));
    let take = json!({ "waitSeconds": 0, "leaseSeconds": 60 });
    let first = bob.tool("recv", take.clone())["messages"][0].clone();
    assert_eq!((&first["delivery"], &first["redelivered"]), (&json!(1), &json!(false)));
    // While it is held nobody gets it, the holder included.
    assert_eq!(bob.tool("recv", take.clone()), json!({ "messages": [] }));
    harbor.clock.advance_ms(60_000);
    let again = bob.tool("recv", take.clone())["messages"][0].clone();
    assert_eq!(again["id"], first["id"]);
    assert_eq!((&again["delivery"], &again["redelivered"]), (&json!(2), &json!(true)));
    // Who was too slow is told, and the one who has it now is heard.
    let hold = |delivery| json!({ "messages": [{ "id": first["id"], "delivery": delivery }] });
    assert_eq!(bob.refused("ack", hold(1)).0, "conflict");
    bob.tool("ack", hold(2));
    harbor.clock.advance_ms(600_000);
    assert_eq!(bob.tool("recv", take), json!({ "messages": [] }));
}

#[test]
fn mail_that_comes_while_somebody_waits_is_handed_out_at_once() {
    let harbor = Harbor::new();
    let mut bob = harbor.lines("bob");
    bob.begin("tools/call", json!({ "name": "recv", "arguments": { "waitSeconds": 240 } }));
    let store = Arc::clone(&harbor.store);
    let sender = thread::spawn(move || {
        let party = |name: &str| name.parse().unwrap();
        block_on(store.send_message(NewMessage::new(party("alice"), party("bob"), "now")))
    });
    let answer = bob.answer();
    assert_eq!(answer["result"]["structuredContent"]["messages"][0]["body"], "now", "{answer}");
    sender.join().unwrap().unwrap();
}

#[test]
fn answers_are_sent_with_the_acknowledgement_or_not_at_all() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    alice.tool("send", json!({ "to": ["bob"], "body": "work" }));
    let got = bob.tool("recv", json!({}))["messages"][0].clone();
    let turn = |to: &str, delivery: u64| {
        json!({
            "waitSeconds": 0,
            "ack": [{ "id": got["id"], "delivery": delivery }],
            "send": [{ "to": [to], "body": "done", "inReplyTo": got["id"] }],
        })
    };
    assert_eq!(bob.refused("recv", turn("nobody", 1)).0, "not-found");
    assert_eq!(bob.refused("recv", turn("alice", 2)).0, "conflict");
    let forged = json!({ "send": [{ "from": "alice", "to": ["bob"], "body": "forged" }] });
    assert_eq!(bob.refused("recv", forged).0, "forbidden");
    assert_eq!(alice.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
    let done = bob.tool("recv", turn("alice", 1));
    assert_eq!((&done["messages"], &done["sent"][0]["to"]), (&json!([]), &json!("alice")));
    let answer = alice.tool("recv", json!({}))["messages"][0].clone();
    assert_eq!((&answer["id"], &answer["inReplyTo"]), (&done["sent"][0]["id"], &got["id"]));
    let kept =
        block_on(harbor.store.message(got["id"].as_str().unwrap().parse().unwrap())).unwrap();
    assert_eq!(kept.status, MessageStatus::Acked);
}

#[test]
fn what_was_handled_is_acknowledged_with_the_next_receive() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    for body in ["one", "two"] {
        alice.tool("send", json!({ "to": ["bob", "operator"], "body": body }));
    }
    let one = bob.tool("recv", json!({}))["messages"][0].clone();
    let ack = json!([{ "id": one["id"], "delivery": one["delivery"] }]);
    let two = bob.tool("recv", json!({ "ack": ack }))["messages"][0].clone();
    assert_eq!(two["body"], "two");
    let kept =
        block_on(harbor.store.message(one["id"].as_str().unwrap().parse().unwrap())).unwrap();
    assert_eq!(kept.status, MessageStatus::Acked);
    // One that is given back comes again, and says what was wrong with it.
    let back = json!({ "id": two["id"], "delivery": two["delivery"], "note": "not now" });
    assert_eq!(bob.tool("release", back)["status"], "queued");
    assert_eq!(bob.tool("recv", json!({}))["messages"][0]["redelivered"], true);
}

#[test]
fn the_holder_of_a_message_is_the_session_that_took_it() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.lines("bob"));
    *bob.meta() = json!({ "threadId": "thread-7" });
    alice.tool("send", json!({ "to": ["bob"], "body": "work" }));
    let id = bob.tool("recv", json!({}))["messages"][0]["id"].clone();
    let kept = block_on(harbor.store.message(id.as_str().unwrap().parse().unwrap())).unwrap();
    assert_eq!(kept.lease.unwrap().holder, "thread-7");
}

#[test]
fn unknown_and_dead_recipients_are_refused_with_what_helps() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let arguments = json!({ "to": ["nobody"], "body": "b" });
    let result = alice.done("tools/call", json!({ "name": "send", "arguments": arguments }));
    let refusal = &result["structuredContent"];
    assert_eq!(refusal["code"], "not-found");
    assert_eq!((&refusal["kind"], &refusal["id"]), (&json!("agent"), &json!("nobody")));
    assert_eq!(refusal["hint"], "list_agents shows who there is");
    harbor.operator().tool("destroy", json!({ "name": "bob" }));
    assert_eq!(alice.refused("send", json!({ "to": ["bob"], "body": "b" })).0, "conflict");
}

#[test]
fn an_agent_looks_at_its_own_mail_in_both_directions() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    alice.tool("send", json!({ "to": ["bob", "operator"], "body": "b" }));
    harbor.operator().tool("send", json!({ "to": ["alice"], "body": "from above" }));
    let bodies = |found: serde_json::Value| {
        let items = found["items"].as_array().unwrap().clone();
        items.iter().map(|mail| mail["to"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(bodies(alice.tool("list_messages", json!({}))), ["alice"]);
    let sent = json!({ "folder": "sent" });
    assert_eq!(bodies(alice.tool("list_messages", sent)), ["operator", "bob"]);
    let with = json!({ "folder": "sent", "with": "bob", "page": { "limit": 1 } });
    assert_eq!(bodies(alice.tool("list_messages", with)), ["bob"]);
}

#[test]
fn mail_of_others_is_not_acknowledged_on_the_way() {
    let harbor = Harbor::new();
    let sent = harbor.lines("alice").tool("send", json!({ "to": ["alice"], "body": "b" }));
    let ack = json!([{ "id": sent["messages"][0]["id"], "delivery": 1 }]);
    let (code, reason) =
        harbor.lines("bob").refused("recv", json!({ "waitSeconds": 0, "ack": ack }));
    assert_eq!(code, "forbidden", "{reason}");
    assert!(!reason.contains("alice"), "{reason}");
}
