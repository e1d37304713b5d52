//! Sessions as its clients see them.

use ah_conformance::{Harness, ModelHarness};
use ah_server::{ServerState, serve_coordinator};
use ah_store::Capabilities;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::given::{Coordinator, text};

const NOW: &str = "2026-01-02T03:04:05.678000+00:00";

#[test]
fn a_session_has_the_columns_of_its_table() {
    let at = Coordinator::new();
    let (_, bare) = at.start(json!({}));
    let expected = json!({
        "session_id": bare,
        "status": "pending",
        "created_at": NOW,
        "project_dir": null,
        "agent_name": null,
        "last_resumed_at": null,
        "parent_session_id": null,
        "executor_session_id": null,
        "executor_profile": null,
        "hostname": null,
    });
    assert_eq!(at.session(&bare), expected);
    at.clock.advance_ms(1);
    let (_, full) = at.start(json!({
        "session_id": "mine", "agent_name": "a", "project_dir": "/p", "parent_session_id": bare,
    }));
    assert_eq!(full, "mine");
    let shown = at.session(&full);
    assert_eq!(
        [&shown["agent_name"], &shown["project_dir"], &shown["parent_session_id"]],
        [&json!("a"), &json!("/p"), &json!(bare)]
    );
    assert_eq!(at.get("/sessions"), (200, json!({ "sessions": [shown, expected] })));
}

#[test]
fn the_status_of_any_id_can_be_asked() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    assert_eq!(at.status(&session), "pending");
    for none in ["none", "%20", "..%2f", "%ff"] {
        assert_eq!(at.status(none), "not_existent", "{none}");
    }
}

#[test]
fn a_binding_says_where_a_session_runs_and_metadata_changes_only_what_it_names() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({ "project_dir": "/p" }));
    assert_eq!(runner.take_id(), run);
    let path = format!("/sessions/{session}/bind");
    let binding = json!({
        "executor_session_id": "e1", "hostname": "h", "executor_profile": "coding",
    });
    let (status, body) = at.post(&path, binding.clone());
    assert_eq!((status, &body["ok"]), (200, &json!(true)));
    let bound = body["session"].clone();
    assert_eq!(bound, at.session(&session));
    assert_eq!(
        [
            &bound["status"],
            &bound["executor_session_id"],
            &bound["hostname"],
            &bound["project_dir"]
        ],
        [&json!("running"), &json!("e1"), &json!("h"), &json!("/p")]
    );
    assert_eq!(at.run_status(&run), "running", "who binds has begun");
    let affinity = json!({
        "session_id": session,
        "hostname": "h",
        "project_dir": "/p",
        "executor_profile": "coding",
        "executor_session_id": "e1",
    });
    let asked = at.get(&format!("/sessions/{session}/affinity"));
    assert_eq!(asked, (200, json!({ "affinity": affinity })));

    let metadata = json!({
        "hostname": null, "executor_session_id": "e2", "agent_name": "b",
        "last_resumed_at": "2026-01-01T00:00:00+00:00",
    });
    let path = format!("/sessions/{session}/metadata");
    let (status, body) = at.ask("PATCH", &path, &metadata);
    assert_eq!(status, 200);
    let mut expected = bound;
    expected["executor_session_id"] = json!("e2");
    expected["agent_name"] = json!("b");
    expected["last_resumed_at"] = json!("2026-01-01T00:00:00.000000+00:00");
    assert_eq!(body, json!({ "ok": true, "session": expected }));
    assert_eq!(at.ask("PATCH", &path, &json!({})).1["session"], expected);
}

#[test]
fn a_session_whose_run_nobody_holds_cannot_be_bound() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    let path = format!("/sessions/{session}/bind");
    let binding = json!({
        "executor_session_id": "e1", "hostname": "h", "executor_profile": "coding",
    });
    assert_eq!(at.post(&path, binding.clone()).0, 409);
    assert_eq!(at.status(&session), "pending");
    assert_eq!(runner.begin(), run);
    runner.done(&run, "completed", json!({}));
    assert_eq!(at.post(&path, binding).0, 409);
    assert_eq!(at.status(&session), "finished");
}

#[test]
fn a_result_is_told_in_both_dialects() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    let path = format!("/sessions/{session}/result");
    let early = (400, json!({ "detail": "Session not finished or idle" }));
    assert_eq!(at.get(&path), early);
    assert_eq!(runner.begin(), run);
    assert_eq!(at.get(&path), early);
    runner.done(&run, "completed", json!({ "session_status": "idle" }));
    assert_eq!(at.get(&path), (404, json!({ "detail": "No result found" })));
    let said = |role: &str, words: &str| {
        let content = json!([{ "type": "thinking" }, { "type": "text", "text": words }]);
        at.tell(&session, "message", json!({ "role": role, "content": content }));
    };
    said("assistant", "one");
    said("assistant", "two");
    said("user", "three");
    let told = json!({ "result": "two", "result_text": "two", "result_data": null });
    assert_eq!(at.get(&path), (200, told));
    let more = json!({ "result_text": "done", "result_data": { "n": 1 } });
    at.tell(&session, "result", more);
    let told = json!({ "result": "two", "result_text": "done", "result_data": { "n": 1 } });
    assert_eq!(at.get(&path), (200, told));
    assert_eq!(at.get("/sessions/none/result").0, 404);
}

#[test]
fn what_a_parent_is_told_is_the_result_of_that_run_and_no_older_one() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (first, parent) = at.start(json!({}));
    assert_eq!(runner.begin(), first);
    let child = json!({ "parent_session_id": parent, "execution_mode": "async_callback" });
    let (run, session) = at.start(child);
    assert_eq!(runner.begin(), run);
    at.tell(&session, "result", json!({ "result_text": "the first" }));
    runner.done(&run, "completed", json!({}));
    let body = json!({
        "type": "resume_session", "session_id": session, "prompt": "again",
        "execution_mode": "async_callback",
    });
    assert_eq!(at.post("/runs", body).0, 201);
    let second = runner.take_id();
    for _ in 0..25 {
        at.tell(&session, "message", json!({ "role": "user", "content": [] }));
    }
    runner.done(&second, "completed", json!({}));
    runner.done(&first, "completed", json!({}));
    let told = text(&runner.take()["prompt"]);
    assert_eq!(told.matches("<agent-callback ").count(), 2, "{told}");
    assert_eq!(told.matches("the first").count(), 1, "{told}");
    let shown = at.get(&format!("/sessions/{session}/result")).1;
    assert_eq!(shown["result_text"], "the first", "the newest that there is");
}

#[test]
fn a_session_goes_with_its_events_and_runs_unless_it_is_at_work() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    let path = format!("/sessions/{session}");
    let remove = || at.ask("DELETE", &path, &Value::Null);
    assert_eq!(runner.begin(), run);
    let (status, body) = remove();
    assert_eq!(status, 409);
    assert!(text(&body["detail"]).contains("Stop session first"), "{body}");
    runner.done(&run, "completed", json!({ "session_status": "idle" }));
    assert_eq!(remove().0, 409, "it waits for its next turn");
    at.post(&format!("{path}/stop"), Value::Null);
    at.resume(&session);
    let expected = json!({
        "ok": true,
        "session_id": session,
        "deleted": { "session": true, "events_count": 2, "runs_count": 2 },
        "runs_removed_from_cache": 2,
    });
    assert_eq!(remove(), (200, expected));
    assert_eq!(remove(), (404, json!({ "detail": "Session not found" })));
    assert_eq!(at.get(&format!("/runs/{run}")).0, 404);
}

#[tokio::test]
async fn the_interface_can_stand_at_the_root_of_a_port_of_its_own() {
    let store = ModelHarness::new(Capabilities { workspaces: true }, 1).store();
    let state = ServerState::new(store);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_coordinator(listener, state));
    for (path, expected) in [
        ("/health", "{\"status\":\"healthy\"}"),
        ("/sessions", "{\"sessions\":[]}"),
        ("/none", "{\"detail\":\"Not Found\"}"),
    ] {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        connection.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with(expected), "{answer}");
    }
}
