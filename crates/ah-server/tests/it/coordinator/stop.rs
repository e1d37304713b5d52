//! Stops, and what they say in every state.

use serde_json::{Value, json};

use super::given::{Coordinator, Said, text};

fn stop(at: &Coordinator, session: &str) -> Said {
    at.post(&format!("/sessions/{session}/stop"), Value::Null)
}

#[test]
fn a_session_is_stopped_once_however_often_it_is_asked() {
    let at = Coordinator::new();
    let (run, session) = at.start(json!({}));
    let answer = json!({
        "ok": true,
        "run_id": run,
        "session_id": session,
        "status": "stopped",
        "message": "Run cancelled before execution",
    });
    assert_eq!(stop(&at, &session), (200, answer));
    let again = json!({
        "ok": true, "session_id": session, "status": "stopped", "message": "Session already stopped",
    });
    assert_eq!(stop(&at, &session), (200, again));
    assert_eq!(at.run_status(&run), "stopped");
}

#[test]
fn a_session_that_is_being_stopped_says_so() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    assert_eq!(stop(&at, &session).1["status"], "stopping");
    let again = json!({
        "ok": true,
        "session_id": session,
        "status": "stopping",
        "message": "Session is already being stopped",
    });
    assert_eq!(stop(&at, &session), (200, again));
    let run_again =
        json!({ "ok": true, "run_id": run, "session_id": session, "status": "stopping" });
    assert_eq!(at.post(&format!("/runs/{run}/stop"), Value::Null), (200, run_again));
}

#[test]
fn a_session_that_has_ended_says_how() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    for (what, more, status) in
        [("completed", json!({}), "finished"), ("failed", json!({ "error": "no" }), "failed")]
    {
        let (run, session) = at.start(json!({}));
        assert_eq!(runner.begin(), run);
        runner.done(&run, what, more);
        let (code, body) = stop(&at, &session);
        assert_eq!((code, &body["status"]), (200, &json!(status)));
        assert_eq!(body["message"], format!("Session already {status}"));
        let (code, body) = at.post(&format!("/runs/{run}/stop"), Value::Null);
        assert_eq!(code, 400);
        assert_eq!(body["detail"], format!("Run cannot be stopped (status: {what})"));
    }
}

#[test]
fn an_idle_session_whose_runner_has_gone_is_stopped_at_once() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    runner.done(&run, "completed", json!({ "session_status": "idle" }));
    assert_eq!(at.status(&session), "idle");
    // Its runner leaves: the process that waited for the next turn has ended with it.
    assert_eq!(at.ask("DELETE", &format!("/runners/{}?self=1", runner.id), &Value::Null).0, 200);
    assert_eq!(at.status(&session), "finished");
}

#[test]
fn what_is_not_there_cannot_be_stopped() {
    let at = Coordinator::new();
    let none = |path: &str| {
        let (status, body) = at.post(path, Value::Null);
        (status, text(&body["detail"]))
    };
    assert_eq!(none("/sessions/none/stop"), (404, "Session not found".to_owned()));
    assert_eq!(none("/runs/none/stop"), (404, "Run not found".to_owned()));
}

#[test]
fn a_runner_that_says_nothing_of_a_stop_does_not_keep_the_run_for_ever() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    assert_eq!(stop(&at, &session).1["status"], "stopping");
    for _ in 0..20 {
        at.pass(10);
        let (status, _) = runner.poll();
        assert!([200, 204].contains(&status));
    }
    assert_eq!((at.status(&session).as_str(), at.run_status(&run).as_str()), STOPPED);
}

const STOPPED: (&str, &str) = ("stopped", "stopped");
