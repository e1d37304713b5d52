//! What a dashboard is told while it happens.

use ah_model::{NewRepo, NewSession, RetentionRules, Vcs};
use ah_store::{Retention, Sessions, block_on};
use serde_json::{Value, json};

use super::given::{Coordinator, Frame, Runner, text};

#[test]
fn a_stream_begins_with_all_sessions_and_tells_what_happens_to_them() {
    let at = Coordinator::new();
    let (first, old) = at.start(json!({}));
    let mut stream = at.stream("/sse/sessions", &[]);
    let init = stream.frame();
    assert_eq!(init.name, "init");
    assert_eq!(init.data, json!({ "sessions": [at.session(&old)] }));

    let (run, session) = at.start(json!({ "additional_demands": { "hostname": "h" } }));
    let created = stream.frame();
    assert_eq!(created.name, "session_created");
    assert_eq!(created.data, json!({ "session": at.session(&session) }));
    let runner = at.runner("h");
    assert_eq!(runner.take_id(), first);
    assert_eq!(runner.begin(), run);
    let frames = stream.until("event");
    let (event, before) = frames.split_last().unwrap();
    assert!(before.iter().all(|frame| frame.name == "session_updated"), "{before:?}");
    assert_eq!(before.last().unwrap().data["session"]["status"], "running");
    let told = json!({ "data": at.events(&session)[0] });
    assert_eq!(event.data, told);
    assert_eq!(event.data["data"]["event_type"], "run_start");

    runner.done(&run, "failed", json!({ "error": "no" }));
    let frames = [stream.frame(), stream.frame()];
    let failed = frames.iter().find(|frame| frame.name == "run_failed").unwrap();
    assert_eq!(failed.data, json!({ "run_id": run, "error": "no", "session_id": session }));
    let updated = frames.iter().find(|frame| frame.name == "session_updated").unwrap();
    assert_eq!(updated.data["session"]["status"], "failed");
    assert_eq!(at.ask("DELETE", &format!("/sessions/{session}"), &Value::Null).0, 200);
    let gone = stream.frame();
    let expected = json!({ "session_id": session, "runs_deleted": null });
    assert_eq!((gone.name.as_str(), gone.data), ("session_deleted", expected));
}

#[test]
fn a_stream_begins_with_a_thousand_sessions_and_no_more() {
    let at = Coordinator::new();
    let (_, oldest) = at.start(json!({ "created_by": "me" }));
    for _ in 0..1_000 {
        at.clock.advance_ms(1);
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some("/r".to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let new = NewSession::new(repo, "codex".parse().unwrap());
        block_on(at.store().create_session(new)).unwrap();
    }
    let ids = |query: &str| {
        let init = at.stream(&format!("/sse/sessions{query}"), &[]).frame();
        assert_eq!(init.name, "init");
        let sessions = init.data["sessions"].as_array().unwrap().iter();
        sessions.map(|session| text(&session["session_id"])).collect::<Vec<_>>()
    };
    let all = ids("");
    assert_eq!((all.len(), all.contains(&oldest)), (1_000, false));
    assert_eq!(at.get("/sessions").1["sessions"].as_array().unwrap().len(), 1_001);
    assert_eq!(ids("?created_by=me"), [oldest.as_str()], "it is asked for by name");
    assert_eq!(ids(&format!("?session_id={oldest}")), [oldest.as_str()]);
    assert_eq!(ids(&format!("?session_id={oldest}&created_by=you")), Vec::<String>::new());
    assert_eq!(ids("?session_id=none"), Vec::<String>::new());
}

#[test]
fn who_comes_back_is_told_what_it_missed_also_after_a_restart() {
    let mut at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let mut stream = at.stream("/sse/sessions", &[]);
    assert_eq!(stream.frame().name, "init");
    at.tell(&session, "message", json!({ "exit_code": 1 }));
    let last = stream.frame().id;
    drop(stream);
    at.tell(&session, "message", json!({ "exit_code": 2 }));
    at.restart();
    at.tell(&session, "message", json!({ "exit_code": 3 }));
    let (_, other) = at.start(json!({}));
    let mut stream = at.stream("/sse/sessions", &[&format!("last-event-id: {last}")]);
    // Events have an order among themselves, and so have changes.
    let frames: Vec<Frame> = (0..3).map(|_| stream.frame()).collect();
    let (events, changes): (Vec<&Frame>, Vec<&Frame>) =
        frames.iter().partition(|frame| frame.name == "event");
    let codes: Vec<_> = events.iter().map(|it| it.data["data"]["exit_code"].clone()).collect();
    assert_eq!(codes, [json!(2), json!(3)]);
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].name, "session_created");
    assert_eq!(changes[0].data["session"]["session_id"], json!(other));
    // Each id is a place to come back to.
    let again = format!("last-event-id: {}", frames[0].id);
    let mut stream = at.stream("/sse/sessions", &[&again]);
    assert_eq!([stream.frame(), stream.frame()][..], frames[1..]);
}

#[test]
fn who_comes_back_after_what_it_missed_is_gone_is_told_all_sessions_anew() {
    let at = Coordinator::new();
    let (_, session) = at.start(json!({}));
    let mut stream = at.stream("/sse/sessions", &[]);
    let last = stream.frame().id;
    at.clock.advance_ms(1);
    let (_, other) = at.start(json!({}));
    assert_eq!(stream.frame().name, "session_created");
    at.clock.advance_ms(1_000);
    let rules = RetentionRules { changes_ms: Some(1), ..RetentionRules::KEEP };
    block_on(at.store().retention_step(rules)).unwrap();
    for query in ["", "?include_init=false", "?created_by=nobody"] {
        let path = format!("/sse/sessions{query}");
        let init = at.stream(&path, &[&format!("last-event-id: {last}")]).frame();
        assert_eq!(init.name, "init", "{query}");
        let sessions = if query.contains("nobody") { vec![] } else { vec![&other, &session] };
        let sessions: Vec<_> = sessions.into_iter().map(|id| at.session(id)).collect();
        assert_eq!(init.data, json!({ "sessions": sessions }), "{query}");
    }
}

#[test]
fn an_id_of_another_server_begins_anew() {
    let at = Coordinator::new();
    let mut stream = at.stream("/sse/sessions", &["last-event-id: 1767323045678-evt-001"]);
    assert_eq!(stream.frame().name, "init");
}

#[test]
fn a_stream_may_be_about_one_session_or_one_creator() {
    let at = Coordinator::new();
    let (_, mine) = at.start(json!({ "created_by": "me" }));
    let (_, other) = at.start(json!({ "created_by": "you" }));
    for query in [format!("session_id={mine}"), "created_by=me".to_owned()] {
        let mut stream = at.stream(&format!("/sse/sessions?{query}"), &[]);
        let init = stream.frame();
        assert_eq!(init.data, json!({ "sessions": [at.session(&mine)] }), "{query}");
        at.tell(&other, "message", json!({}));
        at.tell(&mine, "message", json!({}));
        let event = stream.frame();
        assert_eq!(event.data["data"]["session_id"], json!(mine), "{query}");
    }
    let mut stream = at.stream("/sse/sessions?include_init=false", &[]);
    at.tell(&mine, "message", json!({}));
    assert_eq!(stream.frame().name, "event");
    assert_eq!(at.get("/sse/sessions?include_init=perhaps").0, 422);
}

#[test]
fn a_run_that_nobody_took_and_one_whose_runner_was_lost_are_told_once() {
    let at = Coordinator::new();
    let mut stream = at.stream("/sse/sessions?include_init=false", &[]);
    let runner: Runner<'_> = at.runner("h");
    let (lost, _) = at.start(json!({}));
    assert_eq!(runner.begin(), lost);
    let (untaken, _) = at.start(json!({ "additional_demands": { "hostname": "none" } }));
    at.pass(301);
    let (_, last) = at.start(json!({}));
    let mut failed = Vec::new();
    loop {
        let frame = stream.frame();
        match frame.name.as_str() {
            "run_failed" => failed.push(text(&frame.data["run_id"])),
            "session_created" if frame.data["session"]["session_id"] == json!(last) => break,
            _ => {}
        }
    }
    failed.sort();
    let mut expected = [lost, untaken];
    expected.sort();
    assert_eq!(failed, expected);
}
