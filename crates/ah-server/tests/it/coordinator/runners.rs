//! Runners as its clients see them.

use serde_json::{Value, json};

use super::given::{Coordinator, Runner, registration};
use crate::http::{Connection, request};

#[test]
fn a_runner_is_known_by_what_it_is_and_told_how_to_work() {
    let at = Coordinator::new();
    let body = json!({
        "hostname": "test-host", "project_dir": "/test", "executor_profile": "default",
    });
    let expected = json!({
        "runner_id": "lnch_156e4fa6a8e2",
        "poll_endpoint": "/runner/runs",
        "poll_timeout_seconds": 30,
        "heartbeat_interval_seconds": 60,
    });
    let (status, said) = at.post("/runner/register", body.clone());
    assert_eq!((status, &said), (200, &expected));
    let mut newer = body;
    newer["executor"] = json!({ "type": "autonomous", "command": "claude" });
    let (_, said) = at.post("/runner/register", newer);
    assert_ne!(said["runner_id"], expected["runner_id"]);
}

#[test]
fn runners_are_listed_with_what_they_said() {
    let at = Coordinator::new();
    let mut body = registration("h");
    body["tags"] = json!(["gpu"]);
    body["executor"]["config"] = json!({ "n": 1.5 });
    let runner = Runner::register(&at, body.clone());
    at.pass(10);
    let now = "2026-01-02T03:04:05.678000+00:00";
    let expected = json!({
        "runner_id": runner.id,
        "registered_at": now,
        "last_heartbeat": now,
        "hostname": "h",
        "project_dir": "/p",
        "executor_profile": "coding",
        "executor": body["executor"],
        "tags": ["gpu"],
        "require_matching_tags": false,
        "status": "online",
        "seconds_since_heartbeat": 10.0,
    });
    assert_eq!(at.get("/runners"), (200, json!({ "runners": [expected] })));
    assert_eq!(runner.poll().0, 204);
    let shown = at.get("/runners").1["runners"][0]["seconds_since_heartbeat"].clone();
    assert_eq!(shown, json!(0.0), "a poll is a sign of life");
}

#[test]
fn a_runner_keeps_its_runs_by_polling() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let runs: Vec<String> = (0..3).map(|_| at.start(json!({})).0).collect();
    runs.iter().for_each(|run| assert_eq!(runner.begin(), *run));
    for _ in 0..20 {
        at.pass(30);
        assert_eq!(runner.poll().0, 204);
    }
    runs.iter().for_each(|run| assert_eq!(at.run_status(run), "running"));
}

#[test]
fn nobody_who_is_not_registered_is_listened_to() {
    let at = Coordinator::new();
    let (run, session) = at.start(json!({}));
    let refused = (401, json!({ "detail": "Runner not registered" }));
    let strangers = ["lnch_000000000000", "", "a b"];
    for stranger in strangers {
        let stranger = Runner::known(&at, stranger);
        assert_eq!(stranger.heartbeat(), refused);
        for (what, more) in [("started", json!({})), ("failed", json!({ "error": "e" }))] {
            assert_eq!(stranger.report(&run, what, more), refused);
        }
        let ended = json!({ "runner_id": stranger.id, "status": "finished" });
        assert_eq!(at.post(&format!("/runner/sessions/{session}/status"), ended), refused);
    }
    assert_eq!(Runner::known(&at, "lnch_000000000000").poll(), refused);
    let gone = at.ask("DELETE", "/runners/lnch_000000000000", &Value::Null);
    assert_eq!(gone, (404, json!({ "detail": "Runner not found" })));
    assert_eq!(at.run_status(&run), "pending");
}

#[test]
fn reports_of_what_is_not_there_are_refused() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    for (what, more) in [
        ("started", json!({})),
        ("completed", json!({})),
        ("failed", json!({ "error": "e" })),
        ("stopped", json!({})),
    ] {
        let said = runner.report("run_none", what, more);
        assert_eq!(said, (404, json!({ "detail": "Run not found" })));
    }
    let (run, _) = at.start(json!({}));
    assert_eq!(runner.take_id(), run);
    assert_eq!(runner.report(&run, "failed", json!({})).0, 422, "without an error");
    let odd = runner.report(&run, "completed", json!({ "session_status": "wandering" }));
    assert_eq!(odd.0, 422);
    assert_eq!(at.run_status(&run), "claimed");
}

#[test]
fn a_run_that_ends_before_it_was_said_to_begin_has_ended() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    for (what, more, status) in [
        ("completed", json!({}), "finished"),
        ("failed", json!({ "error": "no such file" }), "failed"),
        ("stopped", json!({ "signal": "SIGKILL" }), "stopped"),
    ] {
        let (run, session) = at.start(json!({}));
        assert_eq!(runner.take_id(), run);
        runner.done(&run, what, more.clone());
        assert_eq!((at.run_status(&run).as_str(), at.status(&session).as_str()), (what, status));
        if what == "failed" {
            assert_eq!(at.run(&run)["error"], more["error"]);
        }
    }
}

#[test]
fn a_process_that_ends_between_two_turns_ends_its_session() {
    let at = Coordinator::new();
    let (runner, other) = (at.runner("h1"), at.runner("h2"));
    for status in ["finished", "failed", "stopped"] {
        let (run, session) = at.start(json!({}));
        assert_eq!(runner.begin(), run);
        runner.done(&run, "completed", json!({ "session_status": "idle" }));
        let path = format!("/runner/sessions/{session}/status");
        let ended = |runner: &Runner<'_>, status: &str| {
            at.post(&path, json!({ "runner_id": runner.id, "status": status }))
        };
        assert_eq!(ended(&other, status).0, 409, "it is not that runner's");
        assert_eq!(ended(&runner, "running").0, 400);
        assert_eq!(at.status(&session), "idle");
        assert_eq!(ended(&runner, status), (200, json!({ "ok": true })));
        assert_eq!(at.status(&session), status);
        assert_eq!(ended(&runner, status), (200, json!({ "ok": true })), "again is no change");
    }
    let gone = json!({ "runner_id": runner.id, "status": "finished" });
    assert_eq!(at.post("/runner/sessions/none/status", gone).0, 404);
}

#[test]
fn two_runners_do_not_bring_an_agent_of_the_same_name() {
    let at = Coordinator::new();
    let mut body = registration("h1");
    body["agents"] = json!([{ "name": "echo", "command": "echo" }]);
    let first = Runner::register(&at, body.clone());
    assert_eq!(Runner::register(&at, body.clone()).id, first.id, "the same runner may come again");
    body["hostname"] = json!("h2");
    let (status, said) = at.post("/runner/register", body.clone());
    let expected = json!({
        "error": "agent_name_collision",
        "message": "Agent name 'echo' is already registered",
        "agent_name": "echo",
        "existing_runner_id": first.id,
    });
    assert_eq!((status, &said["detail"]), (409, &expected));
    body["agents"] = json!([{ "name": "echo" }]);
    assert_eq!(at.post("/runner/register", body.clone()).0, 422, "without a command");
    at.pass(121);
    body["agents"] = json!([{ "name": "echo", "command": "echo" }]);
    assert_eq!(at.post("/runner/register", body).0, 200, "the first has not been heard of");
}

#[test]
fn a_runner_that_nothing_is_heard_of_is_removed_without_being_told() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let path = format!("/runners/{}", runner.id);
    at.pass(121);
    let (status, body) = at.ask("DELETE", &path, &Value::Null);
    assert_eq!((status, &body["initiated_by"]), (200, &json!("external")));
    assert_eq!(at.get("/runners").1, json!({ "runners": [] }));
}

#[test]
fn a_poll_without_a_body_is_no_poll() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, _) = at.start(json!({}));
    let path = format!("/runner/runs?runner_id={}&wait=0", runner.id);
    let mut connection = Connection::open(at.address());
    connection.send(request("HEAD", &format!("/coordinator{path}"), &[], ""));
    assert_eq!(connection.head().status, 405);
    assert_eq!(at.run_status(&run), "pending");
    assert_eq!(runner.take_id(), run);
}
