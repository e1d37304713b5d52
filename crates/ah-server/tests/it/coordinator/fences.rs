//! Executors whose runner has lost the run: what they say later touches nobody else's.

use ah_model::{NewRun, RawJson, RunKind};
use ah_store::{Runs, block_on};
use serde_json::{Value, json};

use super::given::{Coordinator, Said, created, event, text};

fn binding(host: &str, profile: &str) -> Value {
    json!({ "executor_session_id": "e", "hostname": host, "executor_profile": profile })
}

fn bind(at: &Coordinator, session: &str, host: &str, profile: &str) -> Said {
    at.post(&format!("/sessions/{session}/bind"), binding(host, profile))
}

/// Sends the word that the session is over, under a key.
fn stop(at: &Coordinator, session: &str, key: &str) {
    let path = format!("/sessions/{session}/events");
    let header = format!("idempotency-key: {key}");
    let body = event(session, "session_stop", json!({ "exit_code": 0 }));
    assert_eq!(at.reply("POST", &path, &[&header], &body).status, 201);
}

/// A run that is given to another runner when the first one is lost at work.
fn requeued(at: &Coordinator) -> (String, String) {
    let (_, session) = at.start(json!({}));
    assert_eq!(at.post(&format!("/sessions/{session}/stop"), json!({})).0, 200);
    let prompt = RawJson::of(&json!({ "prompt": "go on" })).unwrap();
    let new = NewRun::new(session.parse().unwrap(), RunKind::Resume, prompt);
    let run = block_on(at.store().create_run(NewRun { requeue: true, ..new })).unwrap();
    (run.id.to_string(), session)
}

fn states(at: &Coordinator, session: &str, run: &str) -> [String; 2] {
    [at.status(session), at.run_status(run)]
}

#[test]
fn an_executor_elsewhere_cannot_bind_the_run_that_another_runner_holds() {
    let at = Coordinator::new();
    let (lost, holder) = (at.runner("h1"), at.runner("h2"));
    let (run, session) = at.start(json!({}));
    assert_eq!(lost.take_id(), run);
    at.pass(61);
    assert_eq!(holder.take_id(), run);
    for (host, profile) in [("h1", "coding"), ("h2", "other")] {
        let (status, body) = bind(&at, &session, host, profile);
        assert_eq!(status, 409, "{body}");
        assert!(text(&body["detail"]).contains(&holder.id), "{body}");
    }
    assert_eq!(states(&at, &session, &run), ["pending", "claimed"]);
    assert_eq!(at.session(&session)["hostname"], Value::Null);
    assert_eq!(bind(&at, &session, "h2", "coding").0, 200);
    assert_eq!(states(&at, &session, &run), ["running", "running"]);
}

#[test]
fn the_end_of_an_executor_elsewhere_does_not_end_the_run_that_another_runner_holds() {
    let at = Coordinator::new();
    let (before, holder) = (at.runner("h1"), at.runner("h2"));
    let (run, session) = requeued(&at);
    assert_eq!(before.take_id(), run);
    assert_eq!(bind(&at, &session, "h1", "coding").0, 200);
    at.pass(121);
    assert_eq!(holder.take_id(), run);
    at.tell(&session, "session_stop", json!({}));
    assert_eq!(at.run_status(&run), "claimed", "nobody has begun");
    holder.done(&run, "started", json!({}));
    at.tell(&session, "session_stop", json!({}));
    assert_eq!(states(&at, &session, &run), ["running", "running"], "it is bound elsewhere");
    assert_eq!(bind(&at, &session, "h2", "coding").0, 200);
    at.tell(&session, "session_stop", json!({}));
    assert_eq!(states(&at, &session, &run), ["finished", "completed"]);
}

#[test]
fn an_end_that_is_sent_again_does_not_end_the_run_that_came_after() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.take_id(), run);
    assert_eq!(bind(&at, &session, "h", "coding").0, 200);
    stop(&at, &session, "first");
    assert_eq!(states(&at, &session, &run), ["finished", "completed"]);

    let (resumed, _) = created(&at.resume(&session));
    assert_eq!(runner.take_id(), resumed);
    assert_eq!(bind(&at, &session, "h", "coding").0, 200);
    stop(&at, &session, "first");
    assert_eq!(states(&at, &session, &resumed), ["running", "running"]);
    runner.done(&resumed, "completed", json!({ "session_status": "idle" }));
    stop(&at, &session, "first");
    assert_eq!(at.status(&session), "idle", "its process waits for the next turn");
    stop(&at, &session, "second");
    assert_eq!(at.status(&session), "finished");
}

#[test]
fn an_end_that_was_sent_before_the_run_began_does_not_end_it() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    stop(&at, &session, "early");
    assert_eq!(runner.take_id(), run);
    assert_eq!(bind(&at, &session, "h", "coding").0, 200);
    stop(&at, &session, "early");
    assert_eq!(states(&at, &session, &run), ["running", "running"]);
}
