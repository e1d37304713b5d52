//! Questions: kept before anybody waits, fetched when the answer is late.

use std::thread;

use ah_model::{Answer, Party};
use ah_store::{Questions, block_on};
use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{Era, Wire};

#[test]
fn an_answer_within_the_wait_comes_back_from_the_call_itself() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let ask = json!({ "text": "which?", "options": ["red", "blue"], "waitSeconds": 240 });
    alice.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    let mut operator = harbor.operator();
    let open = json!({ "statuses": ["open"] });
    let id = loop {
        let found = operator.tool("list_questions", open.clone());
        if let Some(question) = found["items"].as_array().unwrap().first() {
            break question["id"].clone();
        }
        thread::yield_now();
    };
    let wrong = json!({ "questionId": id, "values": ["green"] });
    assert_eq!(operator.refused("answer", wrong).0, "invalid");
    operator.tool("answer", json!({ "questionId": id, "values": ["blue"] }));
    let asked = alice.answer()["result"]["structuredContent"].clone();
    assert_eq!((&asked["questionId"], &asked["outcome"]), (&id, &json!("answered")));
    assert_eq!(asked["answer"]["values"], json!(["blue"]));
    // She has heard of it, so no mail tells her again.
    assert_eq!(alice.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
}

#[test]
fn two_questions_that_are_answered_late_are_both_fetched_in_every_era() {
    let harbor = Harbor::new();
    for (way, mut alice) in harbor.ways("alice") {
        let mut ask = |text: &str| {
            let asked = alice.tool("ask", json!({ "text": text, "waitSeconds": 0 }));
            assert_eq!(asked["outcome"], "open", "{way}");
            assert_eq!(asked["answer"], Value::Null, "{way}");
            asked["questionId"].as_str().unwrap().to_owned()
        };
        let ids = [ask("first?"), ask("second?")];
        for (id, answer) in ids.iter().zip(["one", "two"]) {
            let answer = Answer::operator([answer]);
            block_on(harbor.store.answer_question(id.parse().unwrap(), answer)).unwrap();
        }
        // The notice tells her if she does not look; whoever looked is not told again.
        let fetched = alice.tool("get_answer", json!({ "questionId": ids[1] }));
        assert_eq!(fetched["answer"]["values"], json!(["two"]), "{way}");
        let mail = alice.tool("recv", json!({ "waitSeconds": 0, "max": 16 }));
        let mail = mail["messages"].as_array().unwrap().clone();
        assert_eq!(mail.len(), 1, "{way}: {mail:?}");
        assert_eq!((&mail[0]["kind"], &mail[0]["about"]), (&json!("answer"), &json!(ids[0])));
        assert_eq!(mail[0]["body"], "one");
        let hold = json!([{ "id": mail[0]["id"], "delivery": mail[0]["delivery"] }]);
        alice.tool("ack", json!({ "messages": hold }));
        let again = alice.tool("get_answer", json!({ "questionId": ids[0] }));
        assert_eq!(
            (&again["outcome"], &again["answer"]["by"]),
            (&json!("answered"), &json!("operator"))
        );
    }
}

#[test]
fn an_answer_after_the_deadline_is_late_and_not_lost() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let ask = json!({ "text": "soon?", "ttlSeconds": 30, "waitSeconds": 0 });
    let id = alice.tool("ask", ask)["questionId"].clone();
    harbor.clock.advance_ms(30_000);
    let look = json!({ "questionId": id });
    assert_eq!(alice.tool("get_answer", look.clone())["outcome"], "expired");
    let answer = Answer::operator(["after all"]);
    let parsed = id.as_str().unwrap().parse().unwrap();
    block_on(harbor.store.answer_question(parsed, answer)).unwrap();
    let late = alice.tool("get_answer", look);
    assert_eq!(
        (&late["outcome"], &late["answer"]["values"]),
        (&json!("late"), &json!(["after all"]))
    );
}

#[test]
fn a_deadline_ends_the_wait_though_nobody_does_anything() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let ask = json!({ "text": "soon?", "ttlSeconds": 5, "waitSeconds": 240 });
    alice.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    let asked = harbor.lines("alice");
    drop(asked);
    super::given::assert_eventually("it is asked", || !harbor.questions().is_empty());
    harbor.clock.advance_ms(5_000);
    assert_eq!(alice.answer()["result"]["structuredContent"]["outcome"], "expired");
}

#[test]
fn an_agent_answers_what_it_was_asked_from_its_mail() {
    let harbor = Harbor::new();
    let (mut alice, mut bob) = (harbor.lines("alice"), harbor.agent_lines("bob", Era::V2026_07_28));
    let ask = json!({ "text": "ready?", "to": "bob", "waitSeconds": 240 });
    alice.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    let notice = bob.tool("recv", json!({}))["messages"][0].clone();
    assert_eq!((&notice["kind"], &notice["from"]), (&json!("question"), &json!("alice")));
    let id = &notice["about"];
    let question = bob.tool("answer", json!({ "questionId": id, "values": ["yes"] }));
    assert_eq!(question["answer"]["by"], "bob");
    assert_eq!(alice.answer()["result"]["structuredContent"]["answer"]["values"], json!(["yes"]));
    assert_eq!(bob.refused("answer", json!({ "questionId": id, "values": ["no"] })).0, "conflict");
}

#[test]
fn a_caller_that_goes_away_leaves_its_question_behind() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let ask = json!({ "text": "still there?", "waitSeconds": 240 });
    alice.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    let open = ah_model::QuestionFilter { from: Some(party("alice")), ..Default::default() };
    let asked =
        || block_on(harbor.store.list_questions(open.clone(), Default::default())).unwrap().items;
    super::given::assert_eventually("it is asked", || !asked().is_empty());
    drop(alice);
    let id = asked()[0].id.clone();
    block_on(harbor.store.answer_question(id.clone(), Answer::operator(["yes"]))).unwrap();
    let mut again = harbor.lines("alice");
    let found = again.tool("list_questions", json!({ "side": "asked" }));
    assert_eq!(found["items"][0]["id"], json!(id));
    assert_eq!(
        again.tool("get_answer", json!({ "questionId": id }))["answer"]["values"],
        json!(["yes"])
    );
}

#[test]
fn what_others_asked_is_neither_withdrawn_nor_answered_and_nobody_learns_whose_it_is() {
    let harbor = Harbor::new();
    let ask = json!({ "text": "between us", "to": "operator", "waitSeconds": 0 });
    let id = harbor.lines("alice").tool("ask", ask)["questionId"].clone();
    let mut bob = harbor.lines("bob");
    for (tool, arguments) in [
        ("withdraw_question", json!({ "questionId": id })),
        ("get_answer", json!({ "questionId": id })),
        ("answer", json!({ "questionId": id, "values": ["x"] })),
    ] {
        let (code, reason) = bob.refused(tool, arguments);
        assert_eq!(code, "forbidden", "{tool}");
        assert!(!reason.contains("alice"), "{reason}");
    }
}

#[test]
fn a_server_that_stops_still_says_which_question_was_asked_and_the_next_has_the_answer() {
    for era in Era::ALL {
        let mut harbor = Harbor::new();
        let ask = json!({ "text": "still there?", "waitSeconds": 240 });
        let ask = json!({ "name": "ask", "arguments": ask });
        let mut alice = harbor.agent_lines("alice", era);
        let mut bob = harbor.http("bob", era);
        alice.begin("tools/call", ask.clone());
        let (bob, told) = thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let told = bob.done("tools/call", ask);
                (bob, told)
            });
            super::given::assert_eventually("both have asked", || harbor.questions().len() == 2);
            harbor.stop();
            waiting.join().unwrap()
        });
        let of_alice = alice.answer()["result"].clone();
        alice.ended();
        harbor.start();
        let ways: [(&str, Box<dyn Wire>, Value); 2] = [
            ("alice", Box::new(harbor.agent_lines("alice", era)), of_alice),
            ("bob", Box::new(bob.at(harbor.address())), told),
        ];
        for (name, mut wire, told) in ways {
            let question = harbor.questions().into_iter().find(|it| it.from.is(name)).unwrap();
            let handle = &told["structuredContent"];
            assert_eq!(handle["questionId"], json!(question.id), "{era:?} {name}: {told}");
            assert_eq!(handle["outcome"], "open", "{era:?} {name}");
            let answer = Answer::operator([name]);
            block_on(harbor.store.answer_question(question.id.clone(), answer)).unwrap();
            let fetched = wire.tool("get_answer", json!({ "questionId": question.id }));
            assert_eq!(fetched["answer"]["values"], json!([name]), "{era:?}");
        }
    }
}

fn party(name: &str) -> Party {
    name.parse().unwrap()
}

#[test]
fn a_call_that_is_cancelled_is_not_answered_and_what_it_asked_stays() {
    let harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    let ask = json!({ "text": "never mind", "waitSeconds": 240 });
    let id = alice.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    super::given::assert_eventually("it is asked", || !harbor.questions().is_empty());
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": id, "reason": "changed my mind" } });
    alice.send(&cancel.to_string());
    let found = alice.tool("list_questions", json!({ "side": "asked" }));
    let question = found["items"][0]["id"].clone();
    assert_eq!(found["items"][0]["outcome"], "open");
    let withdrawn = alice.tool("withdraw_question", json!({ "questionId": question }));
    assert_eq!(withdrawn["outcome"], "withdrawn");
}
