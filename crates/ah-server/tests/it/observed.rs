//! What is counted and logged of requests.

use ah_model::TokenRole;
use serde_json::json;

use crate::guarded::{Guarded, session};
use crate::http::{ask_as, request};

fn metrics(server: &Guarded, token: &str) -> String {
    let reply = ask_as(&mut server.connect(), ("GET", "/metrics"), Some(token), "");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    String::from_utf8(reply.body).unwrap()
}

#[track_caller]
fn assert_line(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line}\n{text}");
}

#[test]
fn requests_are_counted_by_their_route_not_by_what_they_name() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/sessions", &admin, &session("s1"));
    for id in ["s1", "s1", "s2", "s3"] {
        server.ask("GET", &format!("/sessions/{id}"), Some(&admin), "");
    }
    server.ask("GET", "/nothing", Some(&admin), "");
    server.ask("GET", "/sessions/s1", None, "");
    let text = metrics(&server, &admin);
    let route = r#"method="GET",route="/api/v1/sessions/{id}""#;
    assert_line(&text, &format!(r#"ah_http_requests_total{{{route},status="200"}} 2"#));
    assert_line(&text, &format!(r#"ah_http_requests_total{{{route},status="404"}} 2"#));
    assert_line(&text, &format!(r#"ah_http_requests_total{{{route},status="401"}} 1"#));
    let none = r#"ah_http_requests_total{method="GET",route="none",status="404"} 1"#;
    assert_line(&text, none);
    assert_line(&text, &format!("ah_http_request_duration_seconds_count{{{route}}} 5"));
    assert_line(&text, r#"ah_store_errors_total{code="not-found"} 2"#);
    assert_line(&text, "ah_http_requests_in_flight 1");
    assert_line(&text, "ah_http_body_bytes_held 0");
    let build = format!("ah_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    assert_line(&text, &build);
    assert!(!text.contains("s3") && !text.contains("nothing"), "{text}");
}

#[test]
fn streams_are_counted_while_somebody_follows_them() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    server.done("POST", "/sessions", &admin, &session("s1"));
    let mut streams = Vec::new();
    for path in ["/api/v1/sessions/s1/events", "/api/v1/feed"] {
        let mut connection = server.connect();
        let token = format!("authorization: Bearer {admin}");
        connection.send(request("GET", path, &[&token, "accept: text/event-stream"], ""));
        assert_eq!(connection.head().status, 200);
        streams.push(connection);
    }
    assert_line(&metrics(&server, &admin), "ah_sse_subscribers 2");
    let events = json!({ "events": [{ "type": "note" }] });
    drop(streams);
    // The server notices when it next writes.
    let gone = (0..1_000).any(|_| {
        server.done("POST", "/sessions/s1/events", &admin, &events);
        metrics(&server, &admin).lines().any(|line| line == "ah_sse_subscribers 0")
    });
    assert!(gone);
}

#[test]
fn every_request_is_a_line_without_secrets() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let viewer = server.token("viewer", TokenRole::Viewer);
    let mut connection = server.connect();
    for (method, path, token) in [
        ("GET", "/healthz", None),
        ("GET", "/api/v1/sessions?title=top-secret", Some(&admin)),
        ("DELETE", "/api/v1/sessions/s1", Some(&viewer)),
        ("GET", "/api/v1/sessions", None),
        ("GET", "/nowhere", Some(&admin)),
    ] {
        ask_as(&mut connection, (method, path), token.map(String::as_str), "");
    }
    let stream = format!("/api/v1/sessions/s1/events?access_token={admin}");
    let headers = ["accept: text/event-stream", "x-request-id: mine"];
    connection.send(request("GET", &stream, &headers, ""));
    assert_eq!(connection.reply().status, 404);
    let log = server.log();
    let shown: Vec<String> = log.iter().map(|line| without_chance(line)).collect();
    assert_eq!(
        shown,
        [
            "GET /healthz 200",
            "GET /api/v1/sessions 200 token=admin",
            "DELETE /api/v1/sessions/s1 403 token=viewer code=forbidden",
            "GET /api/v1/sessions 401 code=unauthorized",
            "GET /nowhere 404 code=no-such-path",
            "GET /api/v1/sessions/s1/events 404 token=admin code=not-found",
        ]
    );
    assert!(log[5].contains(" request=mine "), "{}", log[5]);
    for line in &log {
        assert!(!line.contains("0707") && !line.contains("top-secret"), "{line}");
    }
}

/// The line without its time and its request's id.
fn without_chance(line: &str) -> String {
    let words = line.split(' ');
    let kept = words.filter(|word| !word.ends_with("ms") && !word.starts_with("request="));
    kept.collect::<Vec<_>>().join(" ")
}
