//! Requests that no client of ours would send: each is a problem, and nobody else notices.

use std::net::SocketAddr;

use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};

const MIB: usize = 1024 * 1024;

const SESSION: &str = r#"{"id":"s1","agent":{"type":"codex","version":"1"},
    "repo":{"vcs":"git","rootPath":"/r","remoteUrl":null,"defaultBranch":null}}"#;

/// The server still does what it is for.
fn assert_serving(address: SocketAddr) {
    assert_eq!(get(address, "/sessions?limit=1").status, 200);
}

#[test]
fn pages_of_other_sites_and_names_that_are_not_ours_are_refused() {
    let server = SqliteServer::new();
    for (head, status) in [
        ("host: localhost", 200),
        ("host: 127.0.0.1:1\r\norigin: http://127.0.0.1:1", 200),
        ("host: evil.example", 403),
        ("host: localhost\r\norigin: https://evil.example", 403),
        ("host: localhost\r\norigin: null", 403),
    ] {
        let mut connection = Connection::open(server.address());
        connection.send(format!("GET /api/v1/sessions HTTP/1.1\r\n{head}\r\n\r\n"));
        assert_eq!(connection.reply().status, status, "{head}");
    }
}

#[test]
fn malformed_json_is_a_bad_request() {
    let server = SqliteServer::new();
    let address = server.address();
    for body in ["{", "nonsense", "{\"to\":}", "{} {}", "\u{0}", "{\"to\":\"idle\"", "'x'"] {
        let reply = ask(address, "PUT", "/sessions/s1/status", body);
        assert_eq!(reply.problem(), "400 bad-json", "{body}");
    }
    // No body at all is no JSON either.
    assert_eq!(ask(address, "POST", "/sessions", "").problem(), "400 bad-json");
    let mut connection = Connection::open(address);
    connection.send(
        "POST /api/v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\n\"\u{fffd}",
    );
    connection.close_writing();
    assert_serving(address);
}

#[test]
fn wrong_types_and_unknown_fields_are_invalid() {
    let server = SqliteServer::new();
    for (method, path, body, field) in [
        ("POST", "/sessions", "[]", "body"),
        ("POST", "/sessions", "7", "body"),
        ("POST", "/sessions", "{}", "repo"),
        ("POST", "/sessions", r#"{"id":"../x"}"#, "session id"),
        ("POST", "/sessions", r#"{"id":7}"#, "body"),
        ("POST", "/sessions", r#"{"colour":"red"}"#, "colour"),
        ("PUT", "/sessions/s1/status", r#"{"to":"asleep"}"#, "body"),
        ("PUT", "/sessions/s1/title", r#"{"title":null}"#, "body"),
        ("PUT", "/sessions/s1/pinned", r#"{"pinned":"yes"}"#, "body"),
        ("POST", "/sessions/s1/events", r#"{"events":{}}"#, "body"),
        ("POST", "/sessions/s1/events", r#"{"events":[{"data":1}]}"#, "type"),
        ("POST", "/sessions/s1/events", r#"{"events":[],"after":-1}"#, "body"),
        ("POST", "/sessions/s1/events", r#"{"events":[{"type":"a","ts":"noon"}]}"#, "time"),
        ("POST", "/tasks", r#"{"prompt":"p","agent":{},"agents":[]}"#, "agent"),
        ("PATCH", "/agent-instances/a", r#"{"name":"b"}"#, "name"),
        ("PUT", "/kv/entry", r#"{"scope":"user","key":"k"}"#, "value"),
    ] {
        let reply = ask(server.address(), method, path, body);
        assert_eq!(reply.problem(), format!("422 invalid {field}"), "{method} {path} {body}");
    }
}

#[test]
fn more_events_than_one_append_takes_are_counted_and_not_kept() {
    let server = SqliteServer::new();
    ask(server.address(), "POST", "/sessions", SESSION);
    let events = vec![r#"{"type":"a"}"#; 10_001].join(",");
    let body = format!(r#"{{"events":[{events}]}}"#);
    let reply = ask(server.address(), "POST", "/sessions/s1/events", &body);
    assert_eq!(reply.problem(), "422 invalid number of events");
    assert_eq!(reply.json()["reason"], "10001, 1 to 10000 are allowed");
    assert_eq!(get(server.address(), "/sessions/s1/events").body, br#"{"items":[]}"#);
}

#[test]
fn unknown_paths_and_methods_are_problems() {
    let server = SqliteServer::new();
    let address = server.address();
    for path in ["", "/", "/nothing", "/sessions/", "/sessions/s1/nothing", "/sessions/a/b/c/d"] {
        assert_eq!(get(address, path).problem(), "404 no-such-path", "{path}");
    }
    for (method, path, allowed) in [
        ("DELETE", "/sessions", "GET,HEAD,POST"),
        ("OPTIONS", "/sessions", "GET,HEAD,POST"),
        ("POST", "/sessions/s1", "DELETE,GET,HEAD,PATCH"),
        ("BREW", "/kv", "GET,HEAD"),
    ] {
        let reply = ask(address, method, path, "");
        assert_eq!(reply.problem(), "405 method-not-allowed");
        let mut methods: Vec<_> = reply.header("allow").unwrap().split(',').collect();
        methods.sort_unstable();
        assert_eq!(methods.join(","), allowed);
    }
}

#[test]
fn a_head_request_is_answered_without_a_body() {
    let server = SqliteServer::new();
    let mut connection = Connection::open(server.address());
    for (path, status) in [("/healthz", 200), ("/api/v1/sessions", 200), ("/nowhere", 404)] {
        // The next answer follows at once: nothing of a body is between them.
        connection.send(request("HEAD", path, &[], ""));
        assert_eq!(connection.head().status, status);
    }
}

#[test]
fn ids_that_are_paths_or_no_text_are_refused() {
    let server = SqliteServer::new();
    let address = server.address();
    for id in ["%2e%2e", "..", "%2e", "..%2f..%2fetc%2fpasswd", "%2fetc", "a%00b", "%ff", "a%20b"] {
        let reply = get(address, &format!("/sessions/{id}"));
        let field = if id == "%ff" { "id" } else { "session id" };
        assert_eq!(reply.problem(), format!("422 invalid {field}"), "{id}");
    }
    for path in ["/sessions/../../etc/passwd", "/../../etc/passwd", "/sessions/%2e%2e/%2e%2e/x"] {
        assert_eq!(get(address, path).problem(), "404 no-such-path", "{path}");
    }
    let long = "x".repeat(129);
    assert_eq!(get(address, &format!("/sessions/{long}")).problem(), "422 invalid session id");
    for number in ["x", "1.5", "99999999999999999999", "%2e%2e"] {
        assert_eq!(get(address, &format!("/repos/{number}")).problem(), "422 invalid id");
    }
    assert_eq!(get(address, "/repos/-1").problem(), "404 not-found");
}

#[test]
fn bad_queries_are_invalid() {
    let server = SqliteServer::new();
    for (path, field) in [
        ("/sessions?limit=0", "limit"),
        ("/sessions?limit=1001", "limit"),
        ("/sessions?limit=many", "limit"),
        ("/sessions?cursor=zz", "cursor"),
        ("/sessions?status=asleep", "status"),
        ("/sessions?title=%ff", "query"),
        ("/sessions?title=%4", "query"),
        ("/sessions?page=0", "page"),
        ("/sessions?perPage=0", "limit"),
        ("/sessions?projectId=x", "projectId"),
        ("/sessions/s1/events?after=-1", "after"),
        ("/sessions/s1/events?wait=61", "wait"),
        ("/sessions/s1/events?order=up", "order"),
        ("/sessions/s1/logs?tail=0", "limit"),
        ("/kv", "scope"),
        ("/kv/entry?scope=user", "key"),
        ("/session-ids", "prefix"),
        ("/session-origins?source=a", "externalId"),
        ("/agent-names", "name"),
    ] {
        let reply = get(server.address(), path);
        assert_eq!(reply.problem(), format!("422 invalid {field}"), "{path}");
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_and_its_sender_gets_to_know() {
    let server = SqliteServer::new();
    let address = server.address();
    let body = format!(r#"{{"scope":"user","key":"k","value":"{}"}}"#, "x".repeat(17 * MIB));
    assert_eq!(ask(address, "PUT", "/kv/entry", &body).problem(), "413 too-large");
    // One that does not say its length is read up to the limit and no further.
    let mut connection = Connection::open(address);
    connection.send(request("PUT", "/api/v1/kv/entry", &["transfer-encoding: chunked"], ""));
    for _ in 0..17 {
        connection.send(format!("{MIB:x}\r\n{}\r\n", "x".repeat(MIB)));
    }
    connection.send("0\r\n\r\n");
    assert_eq!(connection.reply().problem(), "413 too-large");
    // One that only says so is not waited for: its sender may ask something else.
    let mut connection = Connection::open(address);
    connection.send(
        "PUT /api/v1/kv/entry HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n",
    );
    connection.close_writing();
    assert!(connection.rest().starts_with("HTTP/1.1 413"));
    assert_serving(address);
}

#[test]
fn large_bodies_where_none_are_expected_harm_nobody() {
    let server = SqliteServer::new();
    let address = server.address();
    let body = "x".repeat(10 * 1_000_000);
    for (method, path) in [("GET", "/healthz"), ("POST", "/nowhere"), ("DELETE", "/healthz")] {
        let mut connection = Connection::open(address);
        connection.try_send(request(method, path, &["connection: close"], &body));
        assert_serving(address);
    }
}

#[test]
fn ten_megabytes_of_the_wrong_kind_are_refused() {
    let server = SqliteServer::new();
    let body = format!(r#"{{"title":"{}"}}"#, "x".repeat(10_000_000));
    let reply = ask(server.address(), "PUT", "/sessions/s1/title", &body);
    assert_eq!(reply.problem(), "422 invalid title");
    let deep = "[".repeat(10_000_000);
    let reply = ask(server.address(), "PUT", "/sessions/s1/title", &deep);
    assert_eq!(reply.problem(), "400 bad-json");
}

#[test]
fn clients_that_send_nothing_or_little_keep_nobody_else_waiting() {
    let server = SqliteServer::new();
    let address = server.address();
    let mut slow = Vec::new();
    for part in [
        "",
        "G",
        "GET /api/v1/sessions HTTP/1.1\r\nhost:",
        "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{\"id\"",
    ] {
        for _ in 0..50 {
            let mut connection = Connection::open(address);
            connection.send(part);
            slow.push(connection);
        }
    }
    assert_serving(address);
    // Bodies that never end take no thread and do not keep the server from stopping in time.
    drop(slow);
    assert_serving(address);
}

#[test]
fn half_closed_connections_end_and_harm_nobody() {
    let server = SqliteServer::new();
    let address = server.address();
    for part in [
        "",
        "GET /api/v1/ses",
        "POST /api/v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{",
    ] {
        let mut connection = Connection::open(address);
        connection.send(part);
        connection.close_writing();
        let answer = connection.rest();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_serving(address);
}

#[test]
fn bytes_that_are_no_http_are_refused() {
    let server = SqliteServer::new();
    for bytes in [
        "\u{0}\u{1}\u{2}\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\r\n\r\nx y z\r\n\r\n",
    ] {
        let mut connection = Connection::open(server.address());
        connection.try_send(bytes);
        connection.close_writing();
        let answer = connection.rest();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_serving(server.address());
}

#[test]
fn huge_heads_are_refused() {
    let server = SqliteServer::new();
    let address = server.address();
    for head in [
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(MIB)),
        format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(MIB)),
    ] {
        let mut connection = Connection::open(address);
        connection.try_send(head);
        let status = connection.head().status;
        assert!([414, 431].contains(&status), "{status}");
    }
    assert_serving(address);
}

#[test]
fn every_answer_has_a_request_id_and_the_clients_if_it_is_safe() {
    let server = SqliteServer::new();
    let mut connection = Connection::open(server.address());
    let mut id = |path: &str, given: &str| {
        connection.send(request("GET", path, &[&format!("x-request-id: {given}")], ""));
        connection.reply().header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(id("/healthz", "A-b_c.9"), "A-b_c.9");
    assert_eq!(id("/nowhere", "A-b_c.9"), "A-b_c.9");
    let long = "x".repeat(65);
    let mut fresh: Vec<_> =
        ["", "a b", "a;b", long.as_str()].map(|id_| id("/healthz", id_)).to_vec();
    assert!(fresh.iter().all(|id| id.len() > 20 && !id.contains("xxx")));
    fresh.dedup();
    assert_eq!(fresh.len(), 4);
}

#[test]
fn a_connection_lives_on_after_a_problem() {
    let server = SqliteServer::new();
    let mut connection = Connection::open(server.address());
    for (method, path, body, status) in [
        ("GET", "/api/v1/sessions/..", "", 422),
        ("POST", "/api/v1/sessions", "{", 400),
        ("GET", "/api/v1/sessions/none", "", 404),
        ("DELETE", "/api/v1/kv", "", 405),
        ("GET", "/healthz", "", 200),
    ] {
        connection.send(request(method, path, &[], body));
        assert_eq!(connection.reply().status, status);
    }
}
