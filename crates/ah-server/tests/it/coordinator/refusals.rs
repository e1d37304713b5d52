//! What is refused, and how: always `{"detail": …}`.

use serde_json::{Value, json};

use super::given::{Coordinator, said, text};

#[test]
fn paths_and_methods_that_are_not_there_are_refused_in_its_own_words() {
    let at = Coordinator::new();
    assert_eq!(at.get("/none"), (404, json!({ "detail": "Not Found" })));
    let wrong = at.ask("PUT", "/sessions", &Value::Null);
    assert_eq!(wrong, (405, json!({ "detail": "Method Not Allowed" })));
    assert_eq!(at.post("/sessions", json!({})).0, 405, "a session is born from a run");
    assert_eq!(at.get("/health"), (200, json!({ "status": "healthy" })));
}

#[test]
fn runs_that_cannot_be_are_refused_and_leave_nothing() {
    let at = Coordinator::new();
    let start = |more: Value| {
        let mut body = json!({ "type": "start_session", "parameters": { "prompt": "hi" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        at.post("/runs", body)
    };
    for more in [
        json!({ "type": "restart_session" }),
        json!({ "type": null }),
        json!({ "parameters": null }),
        json!({ "parameters": ["hi"] }),
        json!({ "parameters": "hi" }),
        json!({ "session_id": "../we ird" }),
        json!({ "session_id": 7 }),
        json!({ "agent_name": "not a name" }),
        json!({ "agent_name": "agent-coordinator" }),
        json!({ "execution_mode": "later" }),
        json!({ "scope": [] }),
        json!({ "parent_session_id": "a b" }),
        json!({ "project_dir": "x".repeat(5_000) }),
    ] {
        let (status, body) = start(more.clone());
        assert_eq!(status, 422, "{more} {body}");
        assert!(body["detail"][0]["loc"].is_array(), "{body}");
    }
    let (status, body) =
        at.post("/runs", json!({ "type": "resume_session", "parameters": { "prompt": "hi" } }));
    assert_eq!(status, 400);
    assert!(text(&body["detail"]).contains("session_id is required"), "{body}");
    assert_eq!(at.resume("ses_none"), (404, json!({ "detail": "Session not found" })));
    assert_eq!(at.get("/sessions").1, json!({ "sessions": [] }));
    assert_eq!(start(json!({ "session_id": "s1" })).0, 201);
    let taken = json!({ "detail": "Session 's1' already exists" });
    assert_eq!(start(json!({ "session_id": "s1" })), (409, taken));
    assert_eq!(at.get("/runs/run_none"), (404, json!({ "detail": "Run not found" })));
}

#[test]
fn bodies_that_are_no_json_or_too_large_are_refused() {
    let at = Coordinator::new();
    for body in ["", "{", "[]", "\"x\"", "{} {}"] {
        let (status, body) = said(&at.raw("POST", "/runs", &[], body));
        assert_eq!(status, 422, "{body}");
    }
    let (status, body) = said(&at.raw("POST", "/agents", &[], &"x".repeat(17 * 1024 * 1024)));
    assert_eq!(status, 413);
    assert!(body["detail"].is_string(), "{body}");
}

#[test]
fn pages_of_other_sites_are_not_let_in_and_none_is_invited() {
    let at = Coordinator::new();
    let origin = ["origin: http://localhost:3000"];
    assert_eq!(at.reply("GET", "/sessions", &origin, &Value::Null).status, 403);
    let reply = at.reply("GET", "/sessions", &[], &Value::Null);
    assert_eq!(reply.header("access-control-allow-origin"), None);
}

#[test]
fn long_words_of_a_runner_do_not_keep_a_run_from_ending() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({}));
    assert_eq!(runner.begin(), run);
    let error = format!("a\u{0}{}", "é".repeat(5_000_000 / 2));
    runner.done(&run, "failed", json!({ "error": error }));
    let kept = text(&at.run(&run)["error"]);
    assert!(kept.starts_with("a\u{fffd}é") && kept.len() < 70_000, "{}", kept.len());
    assert_eq!(at.status(&session), "failed");
}
