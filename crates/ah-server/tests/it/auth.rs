//! What a token opens, and when it ceases to.

use std::thread;
use std::time::{Duration, Instant};

use ah_model::{PageRequest, TokenRole};
use ah_server::Exposure;
use ah_store::block_on;
use serde_json::json;

use crate::guarded::{Guarded, agent, session};
use crate::http::{ask_as, request};
use crate::stream::{Frame, Stream};

#[test]
fn an_agent_reaches_itself_and_its_sessions_and_nothing_else() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/agent-instances", &admin, &agent("a1", "Mira", "s1"));
    server.done("POST", "/agent-instances", &admin, &agent("a2", "Nils", "s2"));
    server.done("POST", "/sessions", &admin, &session("s3"));
    let mira = server.agent_token("mira", "mira");
    let events = json!({ "events": [{ "type": "note" }] }).to_string();
    for (method, path, body, status) in [
        ("GET", "/capabilities", "", 200),
        ("GET", "/agent-instances/a1", "", 200),
        ("GET", "/agent-names?name=MIRA", "", 200),
        ("GET", "/agent-instances/a1/sessions", "", 200),
        ("POST", "/agent-instances/a1/events", &events, 201),
        ("GET", "/sessions/s1", "", 200),
        ("GET", "/sessions/s1/events", "", 200),
        ("GET", "/sessions/s1/logs", "", 200),
        ("GET", "/sessions/s1/runs", "", 200),
        ("POST", "/sessions/s1/events", &events, 201),
        // Others.
        ("GET", "/agent-instances/a2", "", 403),
        ("GET", "/agent-names?name=nils", "", 403),
        ("GET", "/agent-instances/a2/sessions", "", 403),
        ("POST", "/agent-instances/a2/events", &events, 403),
        ("GET", "/sessions/s2", "", 403),
        ("GET", "/sessions/s2/events", "", 403),
        ("POST", "/sessions/s2/events", &events, 403),
        // One of nobody.
        ("GET", "/sessions/s3", "", 403),
        // Lists show others, and what removes or rules is not for agents.
        ("GET", "/sessions", "", 403),
        ("GET", "/agent-instances", "", 403),
        ("DELETE", "/sessions/s1", "", 403),
        ("POST", "/sessions/s1/stop", "", 403),
        ("GET", "/tokens", "", 403),
        ("GET", "/sessions/..", "", 422),
    ] {
        let reply = server.ask(method, path, Some(&mira), body);
        assert_eq!(reply.status, status, "{method} {path}");
    }
    let untouched = server.ask("GET", "/sessions/s2/events", Some(&admin), "");
    assert_eq!(untouched.json(), json!({ "items": [] }));
}

#[test]
fn a_token_for_an_agent_that_comes_later_is_good_from_then_on() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let late = server.agent_token("late", "late");
    let refused = server.ask("GET", "/agent-instances/a1", Some(&late), "");
    assert_eq!(refused.problem(), "403 forbidden");
    server.done("POST", "/agent-instances", &admin, &agent("a1", "late", "s1"));
    assert_eq!(server.ask("GET", "/agent-instances/a1", Some(&late), "").status, 200);
}

#[test]
fn a_token_revoked_through_the_server_is_refused_at_once() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let viewer = server.token("viewer", TokenRole::Viewer);
    for _ in 0..20 {
        assert_eq!(server.ask("GET", "/sessions", Some(&viewer), "").status, 200);
    }
    server.done("DELETE", "/tokens/viewer", &admin, &json!({}));
    assert_eq!(server.ask("GET", "/sessions", Some(&viewer), "").problem(), "401 unauthorized");
}

#[test]
fn a_token_ends_at_its_time_also_while_it_is_believed() {
    let server = Guarded::new();
    let short = server.short_token("short", TokenRole::Viewer, 60_000);
    assert_eq!(server.ask("GET", "/sessions", Some(&short), "").status, 200);
    server.clock.advance_ms(60_000);
    assert_eq!(server.ask("GET", "/sessions", Some(&short), "").problem(), "401 unauthorized");
}

#[test]
fn a_use_of_a_token_is_noted() {
    let server = Guarded::new();
    let viewer = server.token("viewer", TokenRole::Viewer);
    assert_eq!(server.ask("GET", "/sessions", Some(&viewer), "").status, 200);
    let used = || {
        let tokens = block_on(server.store.list_tokens(PageRequest::default())).unwrap();
        tokens.items[0].last_used_at.is_some()
    };
    // It is noted beside the answer, so it may come a moment later.
    let noted = (0..1_000).any(|_| {
        thread::sleep(Duration::from_millis(5));
        used()
    });
    assert!(noted);
}

#[test]
fn a_token_in_the_query_opens_streams_only() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/sessions", &admin, &session("s1"));
    let accept = "accept: text/event-stream";
    let events = format!("/api/v1/sessions/s1/events?access_token={admin}");
    for (method, path, headers, status) in [
        ("GET", events.as_str(), vec![accept], 200),
        ("GET", &format!("/api/v1/sessions/s1?access_token={admin}"), vec![accept], 401),
        ("GET", &events, vec![], 401),
        ("GET", "/api/v1/sessions/s1/events?access_token=x", vec![accept], 401),
        ("GET", "/api/v1/sessions/s1/events", vec![accept], 401),
        ("POST", &events, vec![accept], 401),
        // The header is the word that counts.
        ("GET", &events, vec![accept, "authorization: Bearer x"], 401),
        ("GET", &events, vec![accept, "authorization: Basic eDp5"], 401),
    ] {
        let mut connection = server.connect();
        connection.send(request(method, path, &headers, ""));
        assert_eq!(connection.head().status, status, "{method} {path} {headers:?}");
    }
}

#[test]
fn the_word_bearer_may_be_in_any_case() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    for scheme in ["Bearer", "bearer", "BEARER "] {
        let mut connection = server.connect();
        let header = format!("authorization: {scheme} {admin}");
        connection.send(request("GET", "/api/v1/sessions", &[&header], ""));
        assert_eq!(connection.reply().status, 200, "{scheme}");
    }
}

#[test]
fn who_is_refused_with_a_large_body_gets_to_know_and_may_go_on() {
    let server = Guarded::new();
    let body = format!(r#"{{"title":"{}"}}"#, "x".repeat(3_000_000));
    let mut connection = server.connect();
    for _ in 0..2 {
        let reply = ask_as(&mut connection, ("PUT", "/api/v1/sessions/s1/title"), None, &body);
        assert_eq!(reply.problem(), "401 unauthorized");
    }
}

#[test]
fn a_server_that_others_reach_answers_to_any_name_and_to_its_own_pages() {
    let server = Guarded::with(|options| options.exposure = Exposure::Public);
    for (head, status) in [
        ("host: harbor.example", 200),
        ("host: harbor.example\r\norigin: https://harbor.example", 200),
        ("host: harbor.example\r\norigin: https://evil.example", 403),
        ("host: harbor.example\r\norigin: null", 403),
    ] {
        let mut connection = server.connect();
        connection.send(format!("GET /healthz HTTP/1.1\r\n{head}\r\n\r\n"));
        assert_eq!(connection.reply().status, status, "{head}");
    }
}

/// What `stream` says last, though nothing happens; and nothing comes behind it.
fn assert_unauthorized(stream: &mut Stream) {
    let Frame { id, name, data } = stream.frame();
    assert_eq!((id.as_str(), name.as_str()), ("", "problem"));
    assert_eq!((&data["code"], &data["status"]), (&json!("unauthorized"), &json!(401)));
    assert_eq!(stream.text(), None);
}

#[test]
fn a_stream_ends_with_its_token_within_two_seconds() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/sessions", &admin, &session("s1"));
    let viewer = server.token("viewer", TokenRole::Viewer);
    let short = server.short_token("short", TokenRole::Viewer, 60_000);
    let open = |path: &str, token: &str| {
        Stream::open(server.address(), path, &[&format!("authorization: Bearer {token}")])
    };
    let end = server.done("GET", "/feed/end", &admin, &json!({}))["cursor"].take();
    let feed = format!("/feed?after={}", end.as_str().unwrap());
    let mut revoked = [open("/sessions/s1/events", &viewer), open(&feed, &viewer)];
    let mut expired = open("/sessions/s1/events", &short);
    let mut good = open("/sessions/s1/events", &admin);
    // By another server of the same database: this one is not told.
    let since = Instant::now();
    block_on(server.store.revoke_token("viewer".parse().unwrap())).unwrap();
    server.clock.advance_ms(60_000);
    revoked.iter_mut().chain([&mut expired]).for_each(assert_unauthorized);
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());
    let events = json!({ "events": [{ "type": "note" }] });
    server.done("POST", "/sessions/s1/events", &admin, &events);
    assert_eq!(good.frame().name, "note");
}

#[test]
fn what_happens_after_a_token_was_revoked_here_is_not_streamed_to_it() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let viewer = server.token("viewer", TokenRole::Viewer);
    server.done("POST", "/sessions", &admin, &session("s1"));
    let header = format!("authorization: Bearer {viewer}");
    let mut stream = Stream::open(server.address(), "/sessions/s1/events", &[&header]);
    server.done("DELETE", "/tokens/viewer", &admin, &json!({}));
    let events = json!({ "events": [{ "type": "note" }] });
    server.done("POST", "/sessions/s1/events", &admin, &events);
    assert_unauthorized(&mut stream);
}
