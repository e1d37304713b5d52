//! `/mcp`: what only HTTP has.

use ah_model::TokenRole;
use ah_store::{Tokens, block_on};
use serde_json::json;

use super::given::Harbor;
use super::wire::{Era, Http, Wire};
use crate::http::{Connection, request};

#[test]
fn a_request_without_a_good_token_is_not_answered() {
    let harbor = Harbor::new();
    let mut nobody = Http::open(harbor.address(), None, Era::V2026_07_28);
    let message = nobody.message("tools/list", json!({}));
    assert_eq!(nobody.post(&message, &[]).problem(), "401 unauthorized");
    let token = harbor.token("short", TokenRole::Agent, Some("alice"));
    let mut alice = Http::open(harbor.address(), Some(token), Era::V2026_07_28);
    assert_eq!(alice.tool("whoami", json!({}))["name"], "alice");
    block_on(harbor.store.revoke_token("short".parse().unwrap())).unwrap();
    super::given::assert_eventually("the token is not believed any more", || {
        let message = alice.message("tools/list", json!({}));
        alice.post(&message, &[]).status == 401
    });
}

#[test]
fn pages_of_other_sites_and_foreign_names_are_refused() {
    let harbor = Harbor::new();
    let mut alice = harbor.http("alice", Era::V2026_07_28);
    let message = alice.message("tools/list", json!({}));
    for header in ["origin: https://evil.example", "origin: null", "sec-fetch-site: cross-site"] {
        assert_eq!(alice.post(&message, &[header]).problem(), "403 forbidden", "{header}");
    }
    assert_eq!(alice.post(&message, &["origin: http://localhost"]).status, 200);
    let mut connection = Connection::open(harbor.address());
    connection.send(request("POST", "/mcp", &[], "{}").replace("localhost", "evil.example"));
    assert_eq!(connection.reply().problem(), "403 forbidden");
}

#[test]
fn headers_of_the_new_era_must_say_what_the_body_says() {
    let harbor = Harbor::new();
    let mut alice = harbor.http("alice", Era::V2026_07_28);
    let message = alice.message("tools/call", json!({ "name": "whoami", "arguments": {} }));
    assert_eq!(alice.post(&message, &[]).status, 200);
    for header in [
        "mcp-method: tools/list",
        "mcp-name: send",
        "mcp-protocol-version: 2025-11-25",
        "mcp-protocol-version: 2031-01-01",
    ] {
        let reply = alice.post(&message, &[header]);
        assert_eq!(reply.status, 400, "{header}");
        assert!(reply.json()["error"]["code"].is_i64(), "{header}: {}", reply.json());
    }
}

#[test]
fn nothing_is_kept_between_two_requests() {
    let harbor = Harbor::new();
    for era in [Era::V2025_06_18, Era::V2025_11_25] {
        // No session is given out, and none is needed.
        let mut alice = harbor.http("alice", era);
        let message = alice.message("tools/list", json!({}));
        let reply = alice.post(&message, &["mcp-session-id: of-another-server"]);
        assert_eq!((reply.status, reply.header("mcp-session-id")), (200, None));
    }
    for method in ["GET", "DELETE"] {
        let mut connection = Connection::open(harbor.address());
        connection.send(request(method, "/mcp", &["accept: text/event-stream"], ""));
        assert_eq!(connection.reply().problem(), "405 method-not-allowed");
    }
}

#[test]
fn what_is_no_message_is_a_problem() {
    let harbor = Harbor::new();
    let token = harbor.token("alice", TokenRole::Agent, Some("alice"));
    let bearer = format!("authorization: Bearer {token}");
    let both = "accept: application/json, text/event-stream";
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(17 * 1024 * 1024));
    for (headers, body, status) in [
        (vec![both], "nonsense", 400),
        (vec![both], "", 400),
        (vec![both, "content-type: text/plain"], "{}", 415),
        (vec![both, "content-type: application/json"], "{}", 400),
        (vec![both, "content-type: application/json"], r#"{"hello":[1]}"#, 400),
        (vec!["accept: text/html", "content-type: application/json"], "{}", 406),
        (vec![both, "content-type: application/json"], large.as_str(), 413),
    ] {
        let mut connection = Connection::open(harbor.address());
        let headers: Vec<_> = headers.into_iter().chain([bearer.as_str()]).collect();
        connection.try_send(request("POST", "/mcp", &headers, body));
        let reply = connection.reply();
        assert_eq!(reply.problem().split(' ').next(), Some(status.to_string().as_str()));
    }
}
