//! Calls of several rounds: what is asked is kept before the first, and nobody answers for another.

use std::time::Duration;

use ah_model::{Answer, QuestionStatus};
use ah_store::{Questions, block_on};
use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{CAPABILITIES, Era, Lines, Wire};

const ROUND: Duration = Duration::from_millis(400);

/// Calls `ask`, with what `more` adds to the call.
fn ask(wire: &mut dyn Wire, arguments: &Value, more: Value) -> Value {
    let mut params = json!({ "name": "ask", "arguments": arguments });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    wire.done("tools/call", params)
}

/// The operator at a program that can show forms.
fn terminal(harbor: &Harbor) -> Lines {
    let mut operator = harbor.operator();
    operator.meta()[CAPABILITIES] = json!({ "elicitation": {} });
    operator
}

fn filled_in(asked: &Value, content: Value) -> Value {
    let answer = json!({ "action": "accept", "content": content });
    json!({ "requestState": asked["requestState"], "inputResponses": { "answer": answer } })
}

#[test]
fn a_long_wait_is_several_calls_of_one_question() {
    let harbor = Harbor::with_round(ROUND);
    let arguments = json!({ "text": "still?", "waitSeconds": 1 });
    let ways: Vec<Box<dyn Wire>> = vec![
        Box::new(harbor.agent_lines("alice", Era::V2026_07_28)),
        Box::new(harbor.http("alice", Era::V2026_07_28)),
    ];
    for (place, mut alice) in ways.into_iter().enumerate() {
        // 400, 400 and 200 of 1,000 milliseconds.
        let first = ask(&mut *alice, &arguments, json!({}));
        assert_eq!(first["resultType"], "input_required", "{first}");
        assert_eq!(first["inputRequests"], Value::Null, "there is nobody to ask");
        let state = json!({ "requestState": first["requestState"] });
        let second = ask(&mut *alice, &arguments, state);
        assert_eq!(second["resultType"], "input_required", "{second}");
        let state = json!({ "requestState": second["requestState"] });
        let last = ask(&mut *alice, &arguments, state);
        assert_eq!(last["resultType"], "complete", "{last}");
        assert_eq!(last["structuredContent"]["outcome"], "open");
        let kept = harbor.questions();
        assert_eq!(kept.len(), place + 1, "asked once");
        assert!(kept.iter().any(|it| json!(it.id) == last["structuredContent"]["questionId"]));
    }
}

#[test]
fn older_eras_wait_in_one_call() {
    let harbor = Harbor::with_round(Duration::from_millis(10));
    for era in [Era::V2025_06_18, Era::V2025_11_25] {
        let mut alice = harbor.agent_lines("alice", era);
        let asked = alice.tool("ask", json!({ "text": "so?", "waitSeconds": 1 }));
        assert_eq!(asked["outcome"], "open");
    }
}

#[test]
fn the_next_round_may_be_another_servers_and_has_the_answer() {
    let mut harbor = Harbor::with_round(Duration::from_millis(10));
    let arguments = json!({ "text": "still?", "waitSeconds": 1 });
    let mut alice = harbor.agent_lines("alice", Era::V2026_07_28);
    let first = ask(&mut alice, &arguments, json!({}));
    let id = harbor.questions()[0].id.clone();
    harbor.stop();
    block_on(harbor.store.answer_question(id.clone(), Answer::operator(["yes"]))).unwrap();
    harbor.start();
    let mut alice = harbor.agent_lines("alice", Era::V2026_07_28);
    let state = json!({ "requestState": first["requestState"] });
    let last = ask(&mut alice, &arguments, state)["structuredContent"].clone();
    assert_eq!((&last["questionId"], &last["outcome"]), (&json!(id), &json!("answered")));
    assert_eq!(last["answer"]["values"], json!(["yes"]));
    // She has heard of it, so no mail tells her again.
    assert_eq!(alice.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
}

#[test]
fn a_state_that_was_not_given_to_this_caller_for_this_call_is_refused() {
    let harbor = Harbor::with_round(Duration::from_millis(10));
    let arguments = json!({ "text": "still?", "waitSeconds": 1 });
    let mut alice = harbor.agent_lines("alice", Era::V2026_07_28);
    let first = ask(&mut alice, &arguments, json!({}));
    let state = first["requestState"].as_str().unwrap();
    let mut bob = harbor.agent_lines("bob", Era::V2026_07_28);
    let other = json!({ "text": "another?", "waitSeconds": 1 });
    let refused = |wire: &mut Lines, arguments: &Value, state: &str| {
        let result = ask(wire, arguments, json!({ "requestState": state }));
        assert_eq!(result["isError"], json!(true), "{state}: {result}");
        result["structuredContent"]["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(refused(&mut bob, &arguments, state), "invalid");
    assert_eq!(refused(&mut alice, &other, state), "invalid");
    for made_up in ["", ".", "1.", "x", "x.y", "-1.q", "1.\u{0}"] {
        assert_eq!(refused(&mut alice, &arguments, made_up), "invalid", "{made_up:?}");
    }
    assert_eq!(refused(&mut alice, &arguments, "1.no-such-question"), "not-found");
    // However long somebody claims to have left, it is no more than the call says.
    let id = harbor.questions()[0].id.clone();
    let none = json!({ "text": "still?", "waitSeconds": 0 });
    let claim = json!({ "requestState": format!("{}.{id}", u64::MAX) });
    assert_eq!(ask(&mut alice, &none, claim)["structuredContent"]["outcome"], "open");
    assert_eq!(harbor.questions().len(), 1);
}

#[test]
fn whoever_sits_at_the_operators_program_answers_in_a_form() {
    let harbor = Harbor::new();
    for (question, form, content, values) in [
        (
            json!({ "text": "name?" }),
            json!({ "answer": { "type": "string", "title": "Answer", "minLength": 1 } }),
            json!({ "answer": "harbor" }),
            json!(["harbor"]),
        ),
        (
            json!({ "text": "which?", "options": ["a", "b"] }),
            json!({ "answer": { "type": "string", "title": "Answer", "enum": ["a", "b"] } }),
            json!({ "answer": "b" }),
            json!(["b"]),
        ),
        (
            json!({ "text": "which ones?", "options": ["a", "b"], "multi": true }),
            json!({ "answer": { "type": "array", "title": "Answer",
                "items": { "type": "string", "enum": ["a", "b"] } } }),
            json!({ "answer": ["a", "b"] }),
            json!(["a", "b"]),
        ),
        (
            json!({ "text": "or?", "options": ["a"], "freeText": true }),
            json!({ "answer": { "type": "string", "title": "Answer", "enum": ["a"] },
                "other": { "type": "string", "title": "Something else" } }),
            json!({ "answer": "a", "other": "neither" }),
            json!(["neither"]),
        ),
    ] {
        let mut operator = terminal(&harbor);
        let mut arguments = question.clone();
        arguments["from"] = json!("alice");
        let asked = ask(&mut operator, &arguments, json!({}));
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let shown = &asked["inputRequests"]["answer"];
        assert_eq!(shown["method"], "elicitation/create");
        let message = format!("alice asks: {}", question["text"].as_str().unwrap());
        assert_eq!(
            (&shown["params"]["mode"], &shown["params"]["message"]),
            (&json!("form"), &json!(message))
        );
        assert_eq!(shown["params"]["requestedSchema"]["properties"], form);
        // It is kept before anybody was asked, and answered once somebody did.
        assert_eq!(harbor.questions()[0].status, QuestionStatus::Open);
        let done = ask(&mut operator, &arguments, filled_in(&asked, content));
        let done = &done["structuredContent"];
        assert_eq!((&done["outcome"], &done["answer"]["values"]), (&json!("answered"), &values));
        let answer = harbor.questions()[0].answer.clone().unwrap();
        assert_eq!((answer.by.as_str(), answer.resolver.as_deref()), ("operator", Some("by-hand")));
    }
}

#[test]
fn who_does_not_fill_in_the_form_leaves_the_question_for_others() {
    let harbor = Harbor::new();
    let arguments = json!({ "text": "which?", "options": ["a", "b"], "from": "alice" });
    for response in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": {} }),
        json!({ "action": "accept", "content": { "answer": " " } }),
    ] {
        let mut operator = terminal(&harbor);
        let asked = ask(&mut operator, &arguments, json!({}));
        let more = json!({ "requestState": asked["requestState"],
            "inputResponses": { "answer": response, "unknown": 1 } });
        let left = ask(&mut operator, &arguments, more);
        assert_eq!(left["resultType"], "complete", "{response}");
        assert_eq!(left["structuredContent"]["outcome"], "open", "{response}");
        let id = left["structuredContent"]["questionId"].clone();
        operator.tool("answer", json!({ "questionId": id, "values": ["a"] }));
        let fetched = operator.tool("get_answer", json!({ "questionId": id }));
        assert_eq!(fetched["answer"]["values"], json!(["a"]));
    }
}

#[test]
fn a_form_that_is_filled_in_wrongly_or_not_sent_is_shown_again() {
    let harbor = Harbor::new();
    let mut operator = terminal(&harbor);
    let arguments = json!({ "text": "which?", "options": ["a", "b"], "from": "alice" });
    let asked = ask(&mut operator, &arguments, json!({}));
    let without = json!({ "requestState": asked["requestState"] });
    assert_eq!(ask(&mut operator, &arguments, without), asked);
    let wrong = filled_in(&asked, json!({ "answer": "c" }));
    let again = ask(&mut operator, &arguments, wrong);
    let message = again["inputRequests"]["answer"]["params"]["message"].as_str().unwrap();
    assert!(message.contains("\"c\" is none of a, b"), "{message}");
    let broken = json!({ "requestState": asked["requestState"],
        "inputResponses": { "answer": "no result" } });
    let refused = ask(&mut operator, &arguments, broken);
    assert_eq!(refused["structuredContent"]["field"], "inputResponses", "{refused}");
    // Somebody was faster: that answer counts.
    let id = harbor.questions()[0].id.clone();
    block_on(harbor.store.answer_question(id, Answer::operator(["b"]))).unwrap();
    let done = ask(&mut operator, &arguments, filled_in(&again, json!({ "answer": "a" })));
    assert_eq!(done["structuredContent"]["answer"]["values"], json!(["b"]));
    assert_eq!(harbor.questions().len(), 1);
}

#[test]
fn no_agent_answers_for_the_operator_by_filling_in_a_form() {
    let harbor = Harbor::with_round(Duration::from_millis(10));
    let agents = [("agents/alice/mcp.sock", "alice"), ("manager/mcp.sock", "manager")];
    for (socket, name) in agents {
        let mut wire = Lines::open(&harbor.socket(socket), Era::V2026_07_28);
        wire.meta()[CAPABILITIES] = json!({ "elicitation": { "form": {} } });
        let arguments = json!({ "text": "may I?", "options": ["yes", "no"], "waitSeconds": 1 });
        let asked = ask(&mut wire, &arguments, json!({}));
        assert_eq!(asked["inputRequests"], Value::Null, "{name} is asked: {asked}");
        let forged = filled_in(&asked, json!({ "answer": "yes" }));
        let again = ask(&mut wire, &arguments, forged);
        assert_eq!(again["resultType"], "input_required", "{name}: {again}");
        let question = harbor.questions().into_iter().find(|it| it.from.is(name)).unwrap();
        assert_eq!((question.status, question.answer), (QuestionStatus::Open, None), "{name}");
    }
}

#[test]
fn a_form_is_shown_only_by_who_can_and_only_about_what_the_operator_is_asked() {
    let harbor = Harbor::with_round(Duration::from_millis(10));
    let own = json!({ "text": "which?", "from": "alice", "waitSeconds": 1 });
    let others = json!({ "text": "which?", "to": "bob", "waitSeconds": 1 });
    let nobody = json!({ "text": "which?", "from": "alice", "waitSeconds": 0 });
    for (capabilities, arguments) in [
        (json!({}), &own),
        (json!({ "elicitation": { "url": {} } }), &own),
        (json!({ "elicitation": {} }), &others),
        (json!({ "elicitation": {} }), &nobody),
    ] {
        let mut operator = harbor.operator();
        operator.meta()[CAPABILITIES] = capabilities.clone();
        let asked = ask(&mut operator, arguments, json!({}));
        assert_eq!(asked["inputRequests"], Value::Null, "{capabilities}: {asked}");
    }
}
