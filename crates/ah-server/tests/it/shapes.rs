//! What clients of the first API rely on.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::harness::SqliteServer;
use crate::http::{Connection, Reply, ask, get, request};

fn repo(path: &str) -> Value {
    json!({ "vcs": "git", "rootPath": path, "remoteUrl": null, "defaultBranch": null })
}

fn create(address: SocketAddr, id: &str, agent: &str) -> Value {
    let agent = json!({ "type": agent, "version": "latest" });
    let body = json!({ "id": id, "agent": agent, "repo": repo(&format!("/r/{agent}")) });
    let reply = ask(address, "POST", "/sessions", &body.to_string());
    assert_eq!(reply.status, 201);
    reply.json()
}

fn set_status(address: SocketAddr, id: &str, to: &str) {
    let body = json!({ "to": to }).to_string();
    assert_eq!(ask(address, "PUT", &format!("/sessions/{id}/status"), &body).status, 200);
}

fn stop(address: SocketAddr, id: &str) -> Reply {
    ask(address, "POST", &format!("/sessions/{id}/stop"), "")
}

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn a_session_says_when_it_was_created_and_where_to_go_on() {
    let server = SqliteServer::new();
    let session = create(server.address(), "s1", "codex");
    assert_eq!(session["createdAt"], "2026-01-02T03:04:05.678Z");
    let links = json!({
        "self": "/api/v1/sessions/s1",
        "events": "/api/v1/sessions/s1/events",
        "logs": "/api/v1/sessions/s1/logs",
    });
    assert_eq!(session["links"], links);
    assert_eq!(get(server.address(), "/sessions/s1").json(), session);
    let list = get(server.address(), "/sessions").json();
    assert_eq!(list, json!({ "items": [session], "nextCursor": null }));
    for path in links.as_object().unwrap().values() {
        let mut connection = Connection::open(server.address());
        connection.send(request("GET", path.as_str().unwrap(), &[], ""));
        assert_eq!(connection.reply().status, 200);
    }
}

#[test]
fn sessions_are_paged_by_numbers_when_asked() {
    let server = SqliteServer::new();
    let address = server.address();
    (0..5).for_each(|n| drop(create(address, &format!("s{n}"), "codex")));
    let all = get(address, "/sessions").json();
    let page = get(address, "/sessions?page=2&perPage=2").json();
    assert_eq!(ids(&page), ids(&all)[2..4]);
    let pagination = json!({ "page": 2, "perPage": 2, "total": 5, "totalPages": 3 });
    assert_eq!(page["pagination"], pagination);
    assert_eq!(ids(&get(address, "/sessions?page=3&perPage=2").json()), ids(&all)[4..]);
    let beyond = get(address, "/sessions?page=18446744073709551615&perPage=1000").json();
    assert_eq!((ids(&beyond).len(), &beyond["pagination"]["total"]), (0, &json!(5)));
    let default = get(address, "/sessions?page=1").json();
    assert_eq!(default["pagination"]["perPage"], 50);
    assert_eq!(all.get("pagination"), None);
}

#[test]
fn sessions_are_filtered_by_status_agent_and_project() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1", "codex");
    let other = create(address, "s2", "claude-code");
    set_status(address, "s2", "running");
    let project = other["repoId"].as_i64().unwrap();
    for query in ["status=running", "agent=claude-code", &format!("projectId={project}")] {
        let list = get(address, &format!("/sessions?{query}&page=1")).json();
        assert_eq!(ids(&list), ["s2"], "{query}");
        assert_eq!(list["pagination"]["total"], 1);
        assert_eq!(ids(&get(address, &format!("/sessions?{query}")).json()), ["s2"]);
    }
    // The first API's words for what we call otherwise.
    assert_eq!(ids(&get(address, "/sessions?status=queued").json()), ["s1"]);
}

#[test]
fn a_task_of_one_agent_or_of_many_names_its_sessions() {
    let server = SqliteServer::new();
    let address = server.address();
    let codex = json!({ "type": "codex", "version": "latest" });
    let one = json!({ "prompt": "Do it", "agent": codex, "repo": repo("/r") });
    let many = json!({
        "prompt": "Do it", "agents": [codex, { "type": "claude-code", "version": "1" }],
        "instances": 2, "repo": repo("/r"), "labels": { "team": "x" },
    });
    for (task, sessions) in [(one, 1), (many, 4)] {
        let reply = ask(address, "POST", "/tasks", &task.to_string());
        assert_eq!(reply.status, 201);
        let batch = reply.json();
        let first = batch["session_ids"][0].as_str().unwrap();
        assert_eq!(batch["session_ids"].as_array().unwrap().len(), sessions);
        assert_eq!(batch["session_ids"], batch["sessionIds"]);
        assert_eq!(batch["status"], "created");
        let id = batch["id"].as_str().unwrap();
        let links = json!({
            "self": format!("/api/v1/tasks?batchId={id}"),
            "events": format!("/api/v1/sessions/{first}/events"),
            "logs": format!("/api/v1/sessions/{first}/logs"),
        });
        assert_eq!(batch["links"], links);
        let tasks = get(address, &format!("/tasks?batchId={id}")).json();
        assert_eq!(tasks["items"].as_array().unwrap().len(), sessions);
    }
}

#[test]
fn a_launched_draft_answers_as_a_task_does() {
    let server = SqliteServer::new();
    let address = server.address();
    let draft = json!({ "description": "d", "repository": "/r", "branch": null, "models": [] });
    let draft = ask(address, "POST", "/drafts", &draft.to_string());
    assert_eq!(draft.status, 201);
    let path = format!("/drafts/{}", draft.json()["id"].as_str().unwrap());
    let agent = json!({ "type": "codex", "version": "latest" });
    let task = json!({ "prompt": "Do it", "agent": agent, "repo": repo("/r") }).to_string();
    let launched = ask(address, "POST", &format!("{path}/launch"), &task);
    assert_eq!(launched.status, 201);
    assert_eq!(launched.json()["session_ids"].as_array().unwrap().len(), 1);
    assert_eq!(get(address, &path).problem(), "404 not-found");
}

#[test]
fn a_stop_moves_a_session_towards_its_end() {
    let server = SqliteServer::new();
    let address = server.address();
    for (id, moves, after) in [
        ("s1", vec![], "cancelled"),
        ("s2", vec!["running"], "stopping"),
        ("s3", vec!["running", "idle"], "cancelled"),
        ("s4", vec!["running", "stopping"], "stopping"),
    ] {
        create(address, id, "codex");
        moves.into_iter().for_each(|to| set_status(address, id, to));
        let reply = stop(address, id);
        assert_eq!((reply.status, reply.json()), (202, json!({ "status": "accepted" })));
        assert_eq!(get(address, &format!("/sessions/{id}")).json()["status"], after);
    }
    assert_eq!(stop(address, "s1").problem(), "409 conflict");
    assert_eq!(stop(address, "none").problem(), "404 not-found");
}

#[test]
fn logs_are_the_log_and_note_events_as_lines() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1", "codex");
    let ts = "2026-01-02T03:04:05.000Z";
    let events = json!({ "events": [
        { "type": "log", "ts": ts, "data": { "level": "warn", "message": "careful" } },
        { "type": "tool_use", "ts": ts, "data": {} },
        { "type": "note", "ts": ts, "data": "a note" },
        { "type": "note", "ts": ts, "data": { "text": "another" } },
        { "type": "log", "ts": ts, "data": [1] },
    ] });
    assert_eq!(ask(address, "POST", "/sessions/s1/events", &events.to_string()).status, 201);
    let line = |level: &str, message: &str| json!({ "level": level, "message": message, "ts": ts });
    let lines = [
        line("warn", "careful"),
        line("info", "a note"),
        line("info", "another"),
        line("info", "[1]"),
    ];
    let logs = |query: &str| get(address, &format!("/sessions/s1/logs{query}")).json();
    assert_eq!(logs(""), json!({ "logs": lines }));
    assert_eq!(logs("?tail=1"), json!({ "logs": lines[3..] }));
    assert_eq!(logs("?after=1&limit=2"), json!({ "logs": lines[1..3] }));
    assert_eq!(get(address, "/sessions/none/logs").problem(), "404 not-found");
}

#[test]
fn a_deleted_session_is_gone() {
    let server = SqliteServer::new();
    let address = server.address();
    create(address, "s1", "codex");
    let deleted = ask(address, "DELETE", "/sessions/s1", "");
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    assert_eq!(ask(address, "DELETE", "/sessions/s1", "").problem(), "404 not-found");
    assert_eq!(get(address, "/sessions/s1").problem(), "404 not-found");
}

#[test]
fn catalogues_answer_with_items() {
    let server = SqliteServer::new();
    for path in ["/agents", "/runtimes", "/repos", "/workspaces", "/drafts", "/tasks"] {
        let list = get(server.address(), path);
        assert_eq!(list.header("content-type"), Some("application/json"));
        assert_eq!(list.json(), json!({ "items": [], "nextCursor": null }), "{path}");
    }
}

#[test]
fn supervisors_learn_that_it_is_there_and_works_and_what_it_is() {
    let server = SqliteServer::new();
    let ask = |path: &str| {
        let mut connection = Connection::open(server.address());
        connection.send(request("GET", path, &[], ""));
        let reply = connection.reply();
        assert_eq!(reply.status, 200);
        reply.json()
    };
    assert_eq!(ask("/healthz"), json!({ "status": "ok" }));
    assert_eq!(ask("/readyz"), json!({ "status": "ready" }));
    let version =
        json!({ "name": "agent-harbor", "version": env!("CARGO_PKG_VERSION"), "api": "v1" });
    assert_eq!(ask("/version"), version);
    assert_eq!(ask("/api/v1/capabilities"), json!({ "workspaces": true }));
}
