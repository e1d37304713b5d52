//! Keys of requests that are sent again: they are read as everywhere else on this server.

use serde_json::{Value, json};

use super::given::{Coordinator, Said, event, said, text};

fn sent(at: &Coordinator, path: &str, keys: &[&str], body: &Value) -> Said {
    let headers: Vec<String> = keys.iter().map(|key| format!("idempotency-key: {key}")).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    said(&at.reply("POST", path, &headers, body))
}

fn assert_refused((status, body): Said, reason: &str) {
    assert_eq!(status, 422, "{body}");
    let refusal = &body["detail"][0];
    assert_eq!(refusal["loc"], json!(["header", "idempotency-key"]), "{body}");
    assert!(text(&refusal["msg"]).contains(reason), "{body}");
}

#[test]
fn keys_that_are_none_are_refused() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let run = json!({ "type": "start_session", "prompt": "hi" });
    let events = format!("/sessions/{session}/events");
    let message = event(&session, "message", json!({}));
    let (long, longest) = ("x".repeat(513), "x".repeat(512));
    for (path, body) in [("/runs", &run), (events.as_str(), &message)] {
        assert_refused(sent(&at, path, &["a", "a"], body), "more than once");
        assert_refused(sent(&at, path, &[""], body), "0 bytes");
        assert_refused(sent(&at, path, &[&long], body), "513 bytes");
        assert_refused(sent(&at, path, &["a\tb"], body), "control");
    }
    assert_eq!(at.events(&session), Vec::<Value>::new());
    assert_eq!(at.get("/runs").1["runs"].as_array().unwrap().len(), 1);
    for (path, body, key) in [("/runs", &run, "ü"), (events.as_str(), &message, longest.as_str())]
    {
        let once = sent(&at, path, &[key], body);
        assert_eq!((once.0, &once), (201, &sent(&at, path, &[key], body)));
    }
    assert_eq!(at.events(&session).len(), 1);
}

#[test]
fn a_key_of_another_event_is_refused_and_adds_nothing() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let (_, other) = at.start(json!({}));
    let path = |session: &str| format!("/sessions/{session}/events");
    let said = |words: &str| event(&session, "message", json!({ "reason": words }));
    for _ in 0..2 {
        assert_eq!(sent(&at, &path(&session), &["k"], &said("one")).0, 201);
    }
    assert_refused(sent(&at, &path(&session), &["k"], &said("two")), "another request");
    let elsewhere = event(&other, "message", json!({ "reason": "one" }));
    assert_refused(sent(&at, &path(&other), &["k"], &elsewhere), "another request");
    let reasons: Vec<String> = at.events(&session).iter().map(|it| text(&it["reason"])).collect();
    assert_eq!(reasons, ["one"]);
    assert_eq!(at.events(&other), Vec::<Value>::new());
}

#[test]
fn a_key_cannot_be_that_of_an_event_of_the_server() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    let (path, key) = (format!("/sessions/{session}/events"), format!("run_start {run} 1"));
    assert_eq!(sent(&at, &path, &[&key], &event(&session, "message", json!({}))).0, 201);
    assert_eq!(runner.begin(), run);
    let kinds: Vec<String> =
        at.events(&session).iter().map(|event| text(&event["event_type"])).collect();
    assert_eq!(kinds, ["message", "run_start"]);
}
