//! Blueprints as its clients see them.

use serde_json::{Value, json};

use super::given::{Coordinator, Runner, registration, text};

const NOW: &str = "2026-01-02T03:04:05.678000+00:00";

#[test]
fn a_blueprint_is_kept_whole() {
    let mut at = Coordinator::new();
    let body = json!({
        "name": "writer",
        "description": "writes",
        "system_prompt": "be brief",
        "mcp_servers": { "s": { "command": "x", "args": [] } },
        "skills": null,
        "hooks": { "on_run_start": { "agent_name": "check" } },
        "something_new": [1, { "deep": true }],
    });
    let (status, made) = at.post("/agents", body.clone());
    assert_eq!(status, 201);
    let mut expected = body;
    expected.as_object_mut().unwrap().remove("skills");
    for (name, value) in [
        ("type", json!("autonomous")),
        ("tags", json!([])),
        ("capabilities", json!([])),
        ("status", json!("active")),
        ("created_at", json!(NOW)),
        ("modified_at", json!(NOW)),
    ] {
        expected[name] = value;
    }
    assert_eq!(made, expected);
    at.restart();
    assert_eq!(at.get("/agents/writer"), (200, expected.clone()));
    assert_eq!(at.get("/agents"), (200, json!([expected])));
    assert_eq!(at.get("/agents/reader"), (404, json!({ "detail": "Agent not found: reader" })));
}

#[test]
fn a_blueprint_is_changed_in_parts_and_removed() {
    let at = Coordinator::new();
    at.post("/agents", json!({ "name": "a", "description": "one", "tags": ["x"] }));
    at.clock.advance_ms(1_000);
    let change = json!({ "description": "two", "tags": null, "name": "b", "status": "inactive" });
    let (status, changed) = at.ask("PATCH", "/agents/a", &change);
    assert_eq!(status, 200);
    assert_eq!(
        [&changed["name"], &changed["description"], &changed["tags"], &changed["status"]],
        [&json!("a"), &json!("two"), &json!(["x"]), &json!("active")]
    );
    assert_eq!(changed["created_at"], NOW);
    assert_eq!(changed["modified_at"], "2026-01-02T03:04:06.678000+00:00");
    let (status, changed) = at.ask("PATCH", "/agents/a/status", &json!({ "status": "inactive" }));
    assert_eq!((status, &changed["status"]), (200, &json!("inactive")));
    let odd = at.ask("PATCH", "/agents/a/status", &json!({ "status": "asleep" }));
    assert_eq!(odd.0, 422);
    assert_eq!(at.ask("DELETE", "/agents/a", &Value::Null), (204, Value::Null));
    for (method, path) in
        [("DELETE", "/agents/a"), ("PATCH", "/agents/a"), ("PATCH", "/agents/a/status")]
    {
        let said = at.ask(method, path, &json!({ "status": "active" }));
        assert_eq!(said, (404, json!({ "detail": "Agent not found: a" })), "{method} {path}");
    }
}

#[test]
fn names_are_short_plain_and_unique() {
    let at = Coordinator::new();
    let make = |name: &str| {
        let (status, body) = at.post("/agents", json!({ "name": name, "description": "d" }));
        (status, body["detail"].as_str().unwrap_or_default().to_owned())
    };
    for good in ["a", "0-_A", &"x".repeat(60)] {
        assert_eq!(make(good).0, 201, "{good}");
    }
    assert_eq!(make("a"), (409, "Agent already exists: a".to_owned()));
    assert_eq!(make(""), (400, "Agent name is required".to_owned()));
    let long = "Agent name must be 60 characters or less";
    assert_eq!(make(&"x".repeat(61)), (400, long.to_owned()));
    for bad in ["-a", "_a", "a b", "a/b", "é", "a."] {
        let (status, detail) = make(bad);
        assert_eq!(status, 400, "{bad}");
        assert!(detail.starts_with("Agent name must start with letter/number"), "{detail}");
    }
    assert_eq!(at.post("/agents", json!({ "name": "b" })).0, 422);
    for part in [
        json!({ "tags": "x" }),
        json!({ "demands": { "tags": "x" } }),
        json!({ "demands": ["h"] }),
        json!({ "parameters_schema": true }),
        json!({ "type": "odd" }),
    ] {
        let mut body = json!({ "name": "b", "description": "d" });
        body.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        assert_eq!(at.post("/agents", body).0, 422, "{part}");
        assert_eq!(at.ask("PATCH", "/agents/a", &part).0, 422, "{part}");
    }
}

#[test]
fn agents_are_found_by_all_of_their_tags_those_of_runners_too() {
    let at = Coordinator::new();
    for (name, tags) in [("a", json!(["x", "y"])), ("b", json!(["x"])), ("c", json!([]))] {
        at.post("/agents", json!({ "name": name, "description": "d", "tags": tags }));
    }
    let mut body = registration("h");
    body["agents"] = json!([{ "name": "echo", "command": "echo" }]);
    let runner = Runner::register(&at, body);
    let names = |query: &str| -> Vec<String> {
        let (_, agents) = at.get(&format!("/agents{query}"));
        agents.as_array().unwrap().iter().map(|agent| text(&agent["name"])).collect()
    };
    assert_eq!(names(""), ["a", "b", "c", "echo"]);
    assert_eq!(names("?tags=x"), ["a", "b"]);
    assert_eq!(names("?tags=y,%20x"), ["a"]);
    assert_eq!(names("?tags=,"), ["a", "b", "c", "echo"]);
    let (_, brought) = at.get("/agents/echo");
    assert_eq!(
        [&brought["type"], &brought["runner_id"], &brought["description"]],
        [&json!("procedural"), &json!(runner.id), &json!("")]
    );
    let same = at.post("/agents", json!({ "name": "echo", "description": "d" }));
    assert_eq!(same.0, 409);
}

#[test]
fn an_agent_that_refers_to_a_capability_is_shown_only_as_it_is() {
    let at = Coordinator::new();
    at.post("/agents", json!({ "name": "a", "description": "d", "capabilities": ["web"] }));
    let refused = json!({ "detail": "Capability resolution failed: web not found" });
    assert_eq!(at.get("/agents/a"), (422, refused.clone()));
    assert_eq!(at.get("/agents/a?raw=true").0, 200);
    let run =
        json!({ "type": "start_session", "parameters": { "prompt": "hi" }, "agent_name": "a" });
    assert_eq!(at.post("/runs", run), (400, refused));
}
