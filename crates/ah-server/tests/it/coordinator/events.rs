//! Events: nothing of them is lost on the way in or out.

use serde_json::{Value, json};

use super::given::{Coordinator, event, text};

#[test]
fn an_event_has_the_columns_of_its_table_and_keeps_its_words() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    at.tell(&session, "session_start", json!({ "unknown": 1 }));
    let full = json!({
        "timestamp": "2026-01-01T00:00:00.500000+00:00",
        "tool_name": "Bash",
        "tool_input": { "command": "ls" },
        "tool_output": { "lines": ["a"] },
        "error": "e",
        "exit_code": -1,
        "reason": "r",
        "role": "user",
        "content": [{ "type": "text", "text": "t" }],
        "result_text": "x",
        "result_data": { "y": null },
    });
    at.tell(&session, "post_tool", full.clone());
    let mut bare = json!({
        "id": 1,
        "session_id": session,
        "event_type": "session_start",
        "timestamp": "2026-01-02T03:04:05.678901+00:00",
    });
    let names = full.as_object().unwrap().keys().filter(|name| *name != "timestamp");
    names.for_each(|name| bare[name] = Value::Null);
    let mut expected = full;
    for (name, value) in
        [("id", json!(2)), ("session_id", json!(session)), ("event_type", json!("post_tool"))]
    {
        expected[name] = value;
    }
    assert_eq!(at.events(&session), [bare, expected]);
}

#[test]
fn values_that_are_false_in_some_languages_are_values_here() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let values = ["0", "false", "\"\"", "[]", "{}", "1.50", "123456789012345678901234567890"];
    let path = format!("/sessions/{session}/events");
    for value in values {
        let body = event(&session, "post_tool", json!({})).to_string();
        let body = body.replacen('{', &format!("{{\"tool_output\": {value},"), 1);
        assert_eq!(at.raw("POST", &path, &[], &body).status, 201, "{value}");
    }
    at.tell(&session, "post_tool", json!({ "tool_input": {}, "content": [] }));
    let told = String::from_utf8(at.raw("GET", &path, &[], "").body).unwrap();
    for value in values {
        assert!(told.contains(&format!("\"tool_output\":{value},")), "{value} in {told}");
    }
    assert!(told.contains("\"tool_input\":{}"), "{told}");
    assert!(told.contains("\"content\":[]"), "{told}");
}

#[test]
fn a_time_that_is_none_is_kept_as_it_is() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let times = ["not a time", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01"];
    for time in times {
        at.tell(&session, "message", json!({ "timestamp": time }));
    }
    let shown: Vec<String> = at.events(&session).iter().map(|it| text(&it["timestamp"])).collect();
    assert_eq!(shown, times);
}

#[test]
fn all_events_are_read_in_their_order_or_as_many_as_asked_for() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    for index in 0..120_u64 {
        // Clocks go back: the order is that of the writing.
        let time = format!("2026-01-01T00:00:00.{:06}+00:00", 999 - index);
        at.tell(&session, "message", json!({ "timestamp": time, "exit_code": index }));
    }
    let ids = |events: &[Value]| events.iter().map(|it| it["id"].as_u64().unwrap()).collect();
    let all: Vec<u64> = ids(&at.events(&session));
    assert_eq!(all, (1..=120).collect::<Vec<_>>());
    for (query, expected) in [
        ("after=117", vec![118, 119, 120]),
        ("after=10&limit=2", vec![11, 12]),
        ("after=120", vec![]),
        ("limit=0", vec![]),
    ] {
        let (status, body) = at.get(&format!("/sessions/{session}/events?{query}"));
        let found: Vec<u64> = ids(body["events"].as_array().unwrap());
        assert_eq!((status, found), (200, expected), "{query}");
    }
}

#[test]
fn events_that_cannot_be_taken_are_refused() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let path = format!("/sessions/{session}/events");
    assert_eq!(at.told("none", "message", json!({})), (404, not_found()));
    let other = event("ses_other", "message", json!({}));
    let mismatch = json!({ "detail": "Event session_id must match URL session_id" });
    assert_eq!(at.post(&path, other.clone()), (400, mismatch));
    assert_eq!(at.post("/sessions/none/events", other).0, 404);
    for (field, value) in [
        ("tool_input", json!([])),
        ("content", json!({})),
        ("content", json!(["text"])),
        ("result_data", json!("x")),
        ("exit_code", json!("one")),
        ("event_type", json!(7)),
        ("event_type", json!("")),
        ("timestamp", json!(null)),
    ] {
        let said = at.told(&session, "message", json!({ field: value }));
        assert_eq!(said.0, 422, "{field} {said:?}");
    }
    let missing = json!({ "event_type": "message", "session_id": session });
    let place = json!([
        { "type": "missing", "loc": ["body", "timestamp"], "msg": "Field required" },
    ]);
    assert_eq!(at.post(&path, missing), (422, json!({ "detail": place })));
    assert_eq!(at.events(&session), Vec::<Value>::new());
    assert_eq!(at.get("/sessions/none/events"), (404, not_found()));
}

fn not_found() -> Value {
    json!({ "detail": "Session not found" })
}

#[test]
fn the_older_word_for_the_end_ends_the_session_and_its_run() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    at.tell(&session, "session_stop", json!({}));
    assert_eq!(at.status(&session), "pending", "nobody has begun");
    assert_eq!(runner.begin(), run);
    let binding = json!({
        "executor_session_id": "e", "hostname": "h", "executor_profile": "coding",
    });
    assert_eq!(at.post(&format!("/sessions/{session}/bind"), binding).0, 200);
    at.tell(&session, "session_stop", json!({ "exit_code": 0, "reason": "completed" }));
    assert_eq!((at.status(&session).as_str(), at.run_status(&run).as_str()), ENDED);
    at.tell(&session, "session_stop", json!({}));
    runner.done(&run, "completed", json!({}));
    assert_eq!((at.status(&session).as_str(), at.run_status(&run).as_str()), ENDED);
}

const ENDED: (&str, &str) = ("finished", "completed");

#[test]
fn the_older_word_for_the_end_does_not_end_a_stop() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    assert_eq!(at.post(&format!("/sessions/{session}/stop"), json!({})).1["status"], "stopping");
    at.tell(&session, "session_stop", json!({}));
    assert_eq!(at.status(&session), "stopping");
    runner.done(&run, "stopped", json!({}));
    assert_eq!(at.status(&session), "stopped");
}
