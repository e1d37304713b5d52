//! The twelve defects of the original, by the number they have in the list. Each test does what
//! went wrong there.

use serde_json::{Value, json};

use super::given::{Coordinator, Runner, Said, created, registration, text};
use crate::http::{Connection, request};

/// What a refusal says.
fn detail((status, body): Said) -> (u16, String) {
    (status, text(&body["detail"]))
}

fn sessions(at: &Coordinator) -> usize {
    at.get("/sessions").1["sessions"].as_array().unwrap().len()
}

#[test]
fn defect_1_a_run_with_an_unknown_parent_is_refused_and_nothing_is_blocked() {
    let at = Coordinator::new();
    let body = json!({
        "type": "start_session", "parameters": { "prompt": "hi" }, "parent_session_id": "ses_none",
    });
    let refused = at.post("/runs", body);
    assert_eq!(detail(refused), (404, "Parent session 'ses_none' not found".to_owned()));
    assert_eq!(sessions(&at), 0, "nothing is left behind");
    for _ in 0..20 {
        let (_, session) = at.start(json!({}));
        at.tell(&session, "message", json!({}));
    }
    assert_eq!(sessions(&at), 20);
}

#[test]
fn defect_2_a_stop_after_a_resume_reaches_the_runner() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (_, session) = at.start(json!({}));
    let first = runner.begin();
    runner.done(&first, "completed", json!({}));
    let (second, _) = created(&at.resume(&session));
    assert_eq!(runner.begin(), second);
    let stopped = at.post(&format!("/sessions/{session}/stop"), json!({}));
    let expected =
        json!({ "ok": true, "run_id": second, "session_id": session, "status": "stopping" });
    assert_eq!(stopped, (200, expected));
    let told = json!({ "stop_runs": [second], "stop_sessions": [session] });
    assert_eq!(runner.poll(), (200, told));
    runner.done(&second, "stopped", json!({ "signal": "SIGKILL" }));
    assert_eq!(at.status(&session), "stopped");
    let late = detail(runner.report(&second, "completed", json!({})));
    assert_eq!(late, (409, format!("run {second}: is stopped")));
    assert_eq!((at.status(&session).as_str(), at.run_status(&second).as_str()), STOPPED);
}

const STOPPED: (&str, &str) = ("stopped", "stopped");

#[test]
fn defect_3_a_poll_whose_client_has_gone_keeps_no_run() {
    let at = Coordinator::new();
    let (gone, other) = (at.runner("h1"), at.runner("h2"));
    let mut connection = Connection::open(at.address());
    let path = format!("/coordinator/runner/runs?runner_id={}", gone.id);
    connection.send(request("GET", &path, &[], ""));
    drop(connection);
    let (run, _) = at.start(json!({}));
    let (mut status, mut body) = other.poll();
    if status == 204 {
        // The poll was given the run in the very moment of its end: that is over soon.
        at.pass(61);
        (status, body) = other.poll();
    }
    assert_eq!((status, &body["run"]["run_id"]), (200, &Value::String(run)));
}

#[test]
fn defect_3_a_run_whose_answer_was_lost_is_given_out_again_though_its_runner_lives_on() {
    let at = Coordinator::new();
    let (lost, other) = (at.runner("h1"), at.runner("h2"));
    let (run, _) = at.start(json!({}));
    assert_eq!(lost.take_id(), run);
    for _ in 0..5 {
        at.pass(11);
        assert_eq!(lost.poll().0, 204);
        assert_eq!(lost.heartbeat().0, 200);
        assert_eq!(other.poll().0, 204, "nobody else has it yet");
    }
    at.pass(11);
    assert_eq!(at.run_status(&run), "pending");
    assert_eq!(other.begin(), run);
    let late = detail(lost.report(&run, "started", json!({})));
    assert_eq!(late, (409, format!("run {run}: is not held by runner {}", lost.id)));
}

#[test]
fn defect_4_the_runs_of_a_lost_runner_have_failed_for_everybody() {
    let mut at = Coordinator::new();
    let (run, session) = at.start(json!({}));
    let runner = at.runner("h");
    assert_eq!(runner.begin(), run);
    at.pass(119);
    assert_eq!(at.run_status(&run), "running");
    at.pass(2);
    for _ in 0..2 {
        let found = at.run(&run);
        assert_eq!(found["status"], "failed");
        assert!(text(&found["error"]).starts_with("lost: "), "{found}");
        assert_eq!(at.status(&session), "failed");
        assert_eq!(at.get("/runs?status=running").1, json!({ "runs": [] }));
        at.restart();
    }
}

#[test]
fn defect_4_the_runs_of_a_runner_that_leaves_have_failed_for_everybody() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    let left = at.ask("DELETE", &format!("/runners/{}?self=true", runner.id), &Value::Null);
    let expected = json!({ "ok": true, "message": "Runner deregistered", "initiated_by": "self" });
    assert_eq!(left, (200, expected));
    assert_eq!(at.run_status(&run), "failed");
    assert_eq!(at.status(&session), "failed");
}

#[test]
fn defect_5_only_its_holder_reports_of_a_run_and_an_end_is_an_end() {
    let at = Coordinator::new();
    let (holder, other) = (at.runner("h1"), at.runner("h2"));
    let (run, session) = at.start(json!({}));
    assert_eq!(holder.take_id(), run);
    let reports = [
        ("started", json!({})),
        ("completed", json!({})),
        ("failed", json!({ "error": "no" })),
        ("stopped", json!({})),
    ];
    let before = (at.run(&run), at.session(&session), at.events(&session));
    for (what, more) in &reports {
        assert_eq!(other.report(&run, what, more.clone()).0, 409, "{what}");
    }
    assert_eq!((at.run(&run), at.session(&session), at.events(&session)), before);

    holder.done(&run, "started", json!({}));
    holder.done(&run, "completed", json!({}));
    let after = (at.run(&run), at.session(&session), at.events(&session));
    assert_eq!(after.0["status"], "completed");
    for (what, more) in &reports {
        let same = *what == "completed";
        let status = if same { 200 } else { 409 };
        assert_eq!(holder.report(&run, what, more.clone()).0, status, "{what}");
        assert_eq!(other.report(&run, what, more.clone()).0, 409, "{what}");
    }
    assert_eq!((at.run(&run), at.session(&session), at.events(&session)), after);
}

#[test]
fn defect_6_a_second_resume_is_refused_while_the_first_is_at_work() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    for at_work in [false, true] {
        if at_work {
            assert_eq!(runner.begin(), run);
        }
        let (status, body) = at.resume(&session);
        assert_eq!(status, 409);
        assert!(text(&body["detail"]).contains(&run), "{body}");
    }
    assert_eq!(runner.poll().0, 204, "nothing was handed out");
    assert_eq!((at.status(&session).as_str(), at.run_status(&run).as_str()), RUNNING);
    runner.done(&run, "completed", json!({}));
    created(&at.resume(&session));
}

const RUNNING: (&str, &str) = ("running", "running");

#[test]
fn defect_7_a_run_that_nobody_takes_fails_with_its_session_and_its_parent_is_told() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (first, parent) = at.start(json!({}));
    assert_eq!(runner.begin(), first);
    runner.done(&first, "completed", json!({}));
    let (run, session) = at.start(json!({
        "additional_demands": { "hostname": "elsewhere" },
        "parent_session_id": parent,
        "execution_mode": "async_callback",
    }));
    at.pass(299);
    assert_eq!(at.run_status(&run), "pending");
    at.pass(2);
    let failed = at.run(&run);
    assert_eq!((&failed["status"], at.status(&session).as_str()), (&json!("failed"), "failed"));
    let told = runner.take();
    assert_eq!((&told["session_id"], &told["type"]), (&json!(parent), &json!("resume_session")));
    let prompt = text(&told["prompt"]);
    assert!(prompt.contains(&format!("session=\"{session}\" status=\"failed\"")), "{prompt}");
    assert!(prompt.contains(&text(&failed["error"])), "{prompt}");
}

#[test]
fn defect_7_a_run_that_is_refused_leaves_nothing_behind() {
    let at = Coordinator::new();
    let agents = [
        ("scripted", json!({ "script": "deploy" }), "script_not_found"),
        ("served", json!({ "mcp_servers": { "s": { "ref": "r" } } }), "mcp_ref_resolution_failed"),
    ];
    for (name, more, error) in agents {
        let mut body = json!({ "name": name, "description": "d" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(at.post("/agents", body).0, 201);
        let run = json!({
            "type": "start_session", "parameters": { "prompt": "hi" }, "agent_name": name,
        });
        let (status, body) = at.post("/runs", run);
        assert_eq!((status, &body["detail"]["error"]), (400, &json!(error)));
    }
    for demands in [json!({ "tags": "gpu" }), json!(["gpu"]), json!({ "hostname": 7 })] {
        let run = json!({
            "type": "start_session",
            "parameters": { "prompt": "hi" },
            "additional_demands": demands,
        });
        assert_eq!(at.post("/runs", run).0, 422, "{demands}");
    }
    assert_eq!(sessions(&at), 0);
    assert_eq!(at.get("/runs").1, json!({ "runs": [] }));
}

#[test]
fn defect_8_runs_are_taken_in_their_order_also_after_a_restart() {
    let mut at = Coordinator::new();
    let id = at.runner("h").id;
    let queued: Vec<String> = (0..6).map(|_| at.start(json!({})).0).collect();
    let mut taken = Vec::new();
    for _ in 0..2 {
        let runner = Runner::known(&at, &id);
        taken.extend((0..3).map(|_| runner.take_id()));
        at.restart();
    }
    assert_eq!(taken, queued);
}

#[test]
fn defect_9_a_restart_forgets_neither_runners_nor_stops() {
    let mut at = Coordinator::new();
    let id = at.runner("h").id;
    let (stopped, session) = at.start(json!({}));
    let (going, _) = at.start(json!({}));
    let runner = Runner::known(&at, &id);
    assert_eq!((runner.begin(), runner.begin()), (stopped.clone(), going.clone()));
    assert_eq!(at.post(&format!("/sessions/{session}/stop"), json!({})).1["status"], "stopping");
    at.restart();
    let runner = Runner::known(&at, &id);
    let told = json!({ "stop_runs": [stopped], "stop_sessions": [session] });
    assert_eq!(runner.poll(), (200, told));
    at.restart();
    let runner = Runner::known(&at, &id);
    runner.done(&stopped, "stopped", json!({}));
    runner.done(&going, "completed", json!({}));
    let shown = at.get("/runners").1["runners"][0].clone();
    assert_eq!((&shown["runner_id"], &shown["status"]), (&json!(id), &json!("online")));
}

#[test]
fn defect_9_a_restart_forgets_no_callback() {
    let mut at = Coordinator::new();
    let id = at.runner("h").id;
    let runner = Runner::known(&at, &id);
    let (busy, parent) = at.start(json!({}));
    assert_eq!(runner.begin(), busy);
    let child = json!({ "parent_session_id": parent, "execution_mode": "async_callback" });
    let (run, session) = at.start(child);
    assert_eq!(runner.begin(), run);
    at.tell(&session, "result", json!({ "result_text": "forty-two" }));
    runner.done(&run, "completed", json!({}));
    assert_eq!(runner.poll().0, 204, "the parent is busy");
    at.restart();
    let runner = Runner::known(&at, &id);
    runner.done(&busy, "completed", json!({}));
    at.restart();
    let told = Runner::known(&at, &id).take();
    assert_eq!(told["session_id"], json!(parent));
    assert!(text(&told["prompt"]).contains("forty-two"), "{told}");
}

#[test]
fn defect_10_a_runner_that_crashed_comes_back_at_once_and_its_runs_do_not_hang() {
    let at = Coordinator::new();
    let first = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(first.begin(), run);
    at.clock.advance_ms(1);
    let again = at.runner("h");
    assert_eq!(again.id, first.id);
    let (other, _) = at.start(json!({}));
    assert_eq!(again.begin(), other);
    for _ in 0..13 {
        at.pass(10);
        assert_eq!(again.poll().0, 204);
    }
    assert_eq!(at.run_status(&other), "running", "the new process keeps its own");
    assert_eq!(at.run_status(&run), "failed", "and not that of the one that crashed");
    assert_eq!(at.status(&session), "failed");
}

#[test]
fn defect_10_a_runner_that_is_heard_of_again_is_online() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let shown = || {
        let runner = at.get("/runners").1["runners"][0].clone();
        (text(&runner["status"]), runner["seconds_since_heartbeat"].as_f64().unwrap())
    };
    assert_eq!(shown(), ("online".to_owned(), 0.0));
    at.pass(1_000);
    assert_eq!(shown(), ("stale".to_owned(), 1_000.0));
    assert_eq!(runner.heartbeat(), (200, json!({ "ok": true })));
    assert_eq!(shown(), ("online".to_owned(), 0.0));
}

#[test]
fn defect_11_a_callback_run_that_fails_does_not_hold_up_later_ones() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (first, parent) = at.start(json!({}));
    assert_eq!(runner.begin(), first);
    runner.done(&first, "completed", json!({}));
    let child = || {
        let child = json!({ "parent_session_id": parent, "execution_mode": "async_callback" });
        let (run, session) = at.start(child);
        assert_eq!(runner.begin(), run);
        runner.done(&run, "completed", json!({}));
        session
    };
    let one = child();
    let told = runner.take();
    assert!(text(&told["prompt"]).contains(&one), "{told}");
    let told = text(&told["run_id"]);
    runner.done(&told, "started", json!({}));
    runner.done(&told, "failed", json!({ "error": "out of memory" }));
    let two = child();
    let told = runner.take();
    assert_eq!(told["session_id"], json!(parent));
    assert!(text(&told["prompt"]).contains(&two), "{told}");
}

#[test]
fn defect_12_everything_that_is_sent_may_be_sent_again() {
    let at = Coordinator::new();
    let runner = Runner::register(&at, registration("h"));
    let key = ["idempotency-key: k1"];
    let body = json!({ "type": "start_session", "prompt": "hi" });
    let once = at.reply("POST", "/runs", &key, &body);
    let twice = at.reply("POST", "/runs", &key, &body);
    assert_eq!((once.status, twice.status, once.json()), (201, 201, twice.json()));
    let (run, session) = (text(&once.json()["run_id"]), text(&once.json()["session_id"]));
    assert_eq!(runner.take_id(), run);
    assert_eq!(runner.poll().0, 204, "there is one run");
    runner.done(&run, "started", json!({}));
    runner.done(&run, "started", json!({}));
    let path = format!("/sessions/{session}/events");
    let event = super::given::event(&session, "result", json!({ "result_text": "x" }));
    for _ in 0..2 {
        assert_eq!(at.reply("POST", &path, &["idempotency-key: e1"], &event).status, 201);
    }
    runner.done(&run, "completed", json!({}));
    runner.done(&run, "completed", json!({}));
    let kinds: Vec<String> =
        at.events(&session).iter().map(|event| text(&event["event_type"])).collect();
    assert_eq!(kinds, ["run_start", "result", "run_completed"]);
    assert_eq!(at.status(&session), "finished");
}
