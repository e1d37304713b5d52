//! Runs as its clients see them.

use serde_json::{Value, json};

use super::given::{Coordinator, Runner, created, registration, text};

const NOW: &str = "2026-01-02T03:04:05.678000+00:00";

#[test]
fn a_run_is_shown_in_both_dialects() {
    let at = Coordinator::new();
    let (run, session) = at.start(json!({ "agent_name": "a", "project_dir": "/p" }));
    let expected = json!({
        "run_id": run,
        "type": "start_session",
        "session_id": session,
        "agent_name": "a",
        "prompt": "hi",
        "parameters": { "prompt": "hi" },
        "project_dir": "/p",
        "parent_session_id": null,
        "execution_mode": "sync",
        "demands": { "executor_type": "autonomous", "tags": [] },
        "status": "pending",
        "runner_id": null,
        "error": null,
        "created_at": NOW,
        "claimed_at": null,
        "started_at": null,
        "completed_at": null,
        "timeout_at": "2026-01-02T03:09:05.678000+00:00",
    });
    assert_eq!(at.run(&run), expected);
    assert_eq!(at.get("/runs"), (200, json!({ "runs": [expected] })));
    let runner = at.runner("h");
    let mut taken = runner.take();
    assert_eq!((&taken["runner_id"], &taken["claimed_at"]), (&json!(runner.id), &json!(NOW)));
    for name in ["status", "runner_id", "claimed_at"] {
        taken[name] = expected[name].clone();
    }
    for name in ["scope", "resolved_agent_blueprint"] {
        assert_eq!(taken.as_object_mut().unwrap().remove(name), Some(Value::Null));
    }
    assert_eq!(taken, expected);
}

#[test]
fn the_newest_runs_come_first_and_may_be_chosen_by_status() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let mut all: Vec<String> = (0..60).map(|_| at.start(json!({})).0).collect();
    let first = runner.take_id();
    all.reverse();
    let ids = |query: &str| -> Vec<String> {
        let (status, body) = at.get(&format!("/runs{query}"));
        assert_eq!(status, 200);
        body["runs"].as_array().unwrap().iter().map(|run| text(&run["run_id"])).collect()
    };
    assert_eq!(ids(""), all);
    assert_eq!(ids("?status="), all);
    assert_eq!(ids("?status=claimed"), [first]);
    assert_eq!(ids("?status=pending"), all[..59]);
    assert_eq!(ids("?status=nonsense"), Vec::<String>::new());
}

#[test]
fn a_run_in_the_older_dialect_waits_for_ever_unless_it_demands_something() {
    let at = Coordinator::new();
    let ask = |more: Value| {
        let mut body = json!({ "type": "start_session", "prompt": "hi" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        created(&at.post("/runs", body)).0
    };
    let (patient, hurried) =
        (ask(json!({})), ask(json!({ "additional_demands": { "tags": ["x"] } })));
    assert_eq!(at.run(&patient)["timeout_at"], Value::Null);
    at.pass(301);
    assert_eq!((at.run_status(&patient), at.run_status(&hurried)), pair("pending", "failed"));
    let (newer, _) = at.start(json!({}));
    at.pass(301);
    assert_eq!((at.run_status(&patient), at.run_status(&newer)), pair("pending", "failed"));
}

fn pair(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

#[test]
fn runs_go_to_runners_that_offer_what_they_demand() {
    let at = Coordinator::new();
    let plain = at.runner("h1");
    let mut body = registration("h2");
    body["tags"] = json!(["gpu", "eu"]);
    body["require_matching_tags"] = json!(true);
    let choosy = Runner::register(&at, body);
    let mut body = registration("h3");
    body["executor"]["type"] = json!("procedural");
    let procedural = Runner::register(&at, body);
    let (gpu, _) = at.start(json!({ "additional_demands": { "tags": ["gpu"] } }));
    assert_eq!((plain.poll().0, procedural.poll().0), (204, 204));
    assert_eq!(choosy.take_id(), gpu);
    let (any, _) = at.start(json!({}));
    assert_eq!((choosy.poll().0, procedural.poll().0), (204, 204));
    assert_eq!(plain.take_id(), any);
    let (there, _) = at.start(json!({ "additional_demands": { "project_dir": "/other" } }));
    assert_eq!(plain.poll().0, 204);
    assert_eq!(at.run_status(&there), "pending");
}

#[test]
fn a_runner_of_the_older_age_names_its_program_as_the_type_and_takes_runs_all_the_same() {
    let at = Coordinator::new();
    let mut body = registration("h");
    body["executor"]["type"] = json!("claude-code");
    let older = Runner::register(&at, body);
    let (run, _) = at.start(json!({}));
    assert_eq!(older.take_id(), run);
}

#[test]
fn parameters_are_a_prompt_and_nothing_else_unless_the_agent_says_otherwise() {
    let at = Coordinator::new();
    let ask = |parameters: Value| {
        at.post("/runs", json!({ "type": "start_session", "parameters": parameters }))
    };
    for (parameters, path, message) in [
        (json!({}), "$", "'prompt' is a required property"),
        (json!({ "prompt": "" }), "$.prompt", "'' is too short"),
        (json!({ "prompt": 7 }), "$.prompt", "7 is not of type 'string'"),
        (
            json!({ "prompt": "hi", "x": 1 }),
            "$",
            "Additional properties are not allowed ('x' was unexpected)",
        ),
    ] {
        let (status, body) = ask(parameters);
        let detail = &body["detail"];
        assert_eq!((status, &detail["error"]), (400, &json!("parameter_validation_failed")));
        assert_eq!(detail["agent_name"], Value::Null);
        let mistake = &detail["validation_errors"][0];
        assert_eq!((&mistake["path"], &mistake["message"]), (&json!(path), &json!(message)));
        assert_eq!(detail["parameters_schema"]["required"], json!(["prompt"]));
    }
    let schema =
        json!({ "type": "object", "required": ["n"], "properties": { "n": { "minimum": 2 } } });
    let agent = json!({ "name": "counter", "description": "d", "parameters_schema": schema });
    assert_eq!(at.post("/agents", agent).0, 201);
    let count = |parameters: Value| {
        let body = json!({
            "type": "start_session", "agent_name": "counter", "parameters": parameters,
        });
        at.post("/runs", body)
    };
    assert_eq!(count(json!({ "n": 1 })).1["detail"]["agent_name"], "counter");
    assert_eq!(count(json!({ "prompt": "hi" })).0, 400);
    let (run, session) = created(&count(json!({ "n": 2, "more": true })));
    let shown = at.run(&run);
    assert_eq!((&shown["parameters"]["n"], &shown["prompt"]), (&json!(2), &Value::Null));
    // A resume is always a prompt.
    let runner = at.runner("h");
    assert_eq!(runner.begin(), run);
    runner.done(&run, "completed", json!({}));
    created(&at.resume(&session));
}

#[test]
fn a_procedural_agent_of_a_runner_runs_there_and_cannot_be_resumed() {
    let at = Coordinator::new();
    let mut body = registration("h1");
    body["executor"]["type"] = json!("procedural");
    body["agents"] = json!([{
        "name": "echo", "command": "echo", "parameters_schema": { "required": ["message"] },
    }]);
    let owner = Runner::register(&at, body.clone());
    body["hostname"] = json!("h2");
    body["agents"] = json!([]);
    let other = Runner::register(&at, body);
    let ask = |parameters: Value| {
        let body =
            json!({ "type": "start_session", "agent_name": "echo", "parameters": parameters });
        at.post("/runs", body)
    };
    assert_eq!(ask(json!({ "prompt": "hi" })).0, 400);
    let (run, session) = created(&ask(json!({ "message": "hi" })));
    assert_eq!(other.poll().0, 204);
    let taken = owner.take();
    assert_eq!(taken["run_id"], json!(run));
    assert_eq!(taken["resolved_agent_blueprint"]["command"], "echo");
    owner.done(&run, "completed", json!({}));
    let (status, body) = at.resume(&session);
    let expected = json!({
        "error": "procedural_agent_no_resume",
        "message": "Procedural agents are stateless and cannot be resumed",
        "agent_name": "echo",
    });
    assert_eq!((status, &body["detail"]), (400, &expected));
}

#[test]
fn a_runner_is_given_the_blueprint_and_the_scope() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let agent = json!({ "name": "a", "description": "d", "system_prompt": "be kind" });
    assert_eq!(at.post("/agents", agent).0, 201);
    let (run, parent) =
        at.start(json!({ "agent_name": "a", "scope": { "user": "u1", "team": "t" } }));
    let taken = runner.take();
    assert_eq!(taken["scope"], json!({ "user": "u1", "team": "t" }));
    assert_eq!(taken["resolved_agent_blueprint"]["system_prompt"], "be kind");
    assert_eq!(taken["parameters"], json!({ "prompt": "hi" }));
    assert_eq!(at.run(&run).get("scope"), None);
    at.start(json!({ "parent_session_id": parent, "scope": { "user": "u2" } }));
    assert_eq!(runner.take()["scope"], json!({ "user": "u2", "team": "t" }));
}

#[test]
fn a_resume_may_say_another_agent_and_directory_for_its_run_alone() {
    let at = Coordinator::new();
    let runner = at.runner("h");
    let (run, session) = at.start(json!({ "agent_name": "a", "project_dir": "/p" }));
    assert_eq!(runner.begin(), run);
    runner.done(&run, "completed", json!({}));
    let body = json!({
        "type": "resume_session", "session_id": session, "prompt": "go on",
        "agent_name": "b", "project_dir": "/q",
    });
    created(&at.post("/runs", body));
    let taken = runner.take();
    assert_eq!((&taken["agent_name"], &taken["project_dir"]), (&json!("b"), &json!("/q")));
    assert_eq!(taken["parameters"], json!({ "prompt": "go on" }));
    assert_eq!(at.session(&session)["agent_name"], "a");
}
