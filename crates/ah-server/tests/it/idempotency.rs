//! Requests with a key, sent again.

use ah_model::TokenRole;
use serde_json::{Value, json};

use crate::guarded::{Guarded, session};
use crate::http::{Reply, request};

fn send(server: &Guarded, token: &str, key: &[&str], (path, body): (&str, &Value)) -> Reply {
    put(server, token, key, ("POST", path, &body.to_string()))
}

fn put(
    server: &Guarded,
    token: &str,
    keys: &[&str],
    (method, path, body): (&str, &str, &str),
) -> Reply {
    let mut headers = vec![format!("authorization: Bearer {token}")];
    headers.extend(keys.iter().map(|key| format!("idempotency-key: {key}")));
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let mut connection = server.connect();
    connection.send(request(method, &format!("/api/v1{path}"), &headers, body));
    connection.reply()
}

fn count(server: &Guarded, token: &str) -> usize {
    let list = server.done("GET", "/sessions", token, &Value::Null);
    list["items"].as_array().unwrap().len()
}

/// A session whose id the store mints: done twice, there would be two.
fn unnamed() -> Value {
    let mut session = session("x");
    session.as_object_mut().unwrap().remove("id");
    session
}

#[test]
fn the_same_request_with_the_same_key_is_done_once_and_answered_alike() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let first = send(&server, &admin, &["k1"], ("/sessions", &unnamed()));
    assert_eq!(first.status, 201);
    for _ in 0..3 {
        server.clock.advance_ms(1_000);
        let again = send(&server, &admin, &["k1"], ("/sessions", &unnamed()));
        assert_eq!((again.status, again.json()), (201, first.json()));
    }
    assert_eq!(count(&server, &admin), 1);
    send(&server, &admin, &["k2"], ("/sessions", &unnamed()));
    send(&server, &admin, &[], ("/sessions", &unnamed()));
    assert_eq!(count(&server, &admin), 3);
}

#[test]
fn another_request_with_the_same_key_is_invalid_and_does_nothing() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    send(&server, &admin, &["k1"], ("/sessions", &unnamed()));
    let mut other = unnamed();
    other["title"] = json!("another");
    for (path, body) in [("/sessions", &other), ("/sessions?x=1", &unnamed())] {
        let reply = send(&server, &admin, &["k1"], (path, body));
        assert_eq!(reply.problem(), "422 invalid idempotency key", "{path}");
    }
    let task =
        json!({ "prompt": "p", "agent": session("x")["agent"], "repo": session("x")["repo"] });
    let reply = send(&server, &admin, &["k1"], ("/tasks", &task));
    assert_eq!(reply.problem(), "422 invalid idempotency key");
    assert_eq!(count(&server, &admin), 1);
}

#[test]
fn a_key_is_its_callers_own() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let operator = server.token("admin:k", TokenRole::Operator);
    // Written one behind the other, these are the same caller and key.
    send(&server, &admin, &["k:1"], ("/sessions", &unnamed()));
    let other = send(&server, &operator, &["1"], ("/sessions", &unnamed()));
    assert_eq!(other.problem(), "422 invalid idempotency key", "it is nobody else's answer");
    assert_eq!(send(&server, &operator, &["k:1"], ("/sessions", &unnamed())).status, 201);
    assert_eq!(count(&server, &admin), 2);
}

#[test]
fn what_is_no_key_is_refused() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let long = "x".repeat(513);
    for keys in [vec![""], vec!["a", "a"], vec![&long], vec!["a\tb"]] {
        let reply = send(&server, &admin, &keys, ("/sessions", &unnamed()));
        assert_eq!(reply.problem(), "422 invalid idempotency key", "{keys:?}");
    }
    assert_eq!(count(&server, &admin), 0);
    for key in [&long[1..], "with space", "ключ"] {
        let reply = send(&server, &admin, &[key], ("/sessions", &unnamed()));
        assert_eq!(reply.status, 201, "{key}");
    }
}

#[test]
fn a_refused_request_uses_no_key_up() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let append = json!({ "events": [{ "type": "note" }] });
    for _ in 0..2 {
        let reply = send(&server, &admin, &["k1"], ("/sessions/s1/events", &append));
        assert_eq!(reply.problem(), "404 not-found");
    }
    server.done("POST", "/sessions", &admin, &session("s1"));
    for _ in 0..2 {
        let reply = send(&server, &admin, &["k1"], ("/sessions/s1/events", &append));
        assert_eq!((reply.status, &reply.json()["appended"]), (201, &json!(1)));
    }
    let events = server.done("GET", "/sessions/s1/events", &admin, &Value::Null);
    assert_eq!(events["items"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_put_takes_a_key_too_and_what_needs_no_body() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let executor = json!({ "id": "e1" }).to_string();
    let register = || put(&server, &admin, &["k1"], ("PUT", "/executors/e1", &executor)).json();
    assert_eq!(register(), register(), "its generation would have risen");
    server.done("POST", "/sessions", &admin, &session("s1"));
    for _ in 0..2 {
        // Asked twice without a key, the second would be refused.
        let reply = put(&server, &admin, &["k2"], ("POST", "/sessions/s1/stop", ""));
        assert_eq!(reply.status, 202);
    }
}

#[test]
fn a_keyed_body_that_is_too_large_is_refused() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
    let reply = put(&server, &admin, &["k1"], ("POST", "/workspaces", &body));
    assert_eq!(reply.problem(), "413 too-large");
}
