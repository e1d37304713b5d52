//! The pages for people: what serves them, and how a browser is let in.

use ah_model::TokenRole;
use serde_json::json;

use crate::guarded::{Guarded, session};
use crate::http::{Connection, Reply};

const PAGE: &str = "x-ah-dashboard: 1";

/// One request of a browser.
fn browse(server: &Guarded, method: &str, path: &str, heads: &[&str], body: &str) -> Reply {
    let mut connection = Connection::open(server.address());
    let heads: String = heads.iter().map(|head| format!("{head}\r\n")).collect();
    let length = body.len();
    connection.send(format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:4747\r\n{heads}content-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    ));
    connection.reply()
}

/// Logs in, and gives the header with the cookie.
fn log_in(server: &Guarded, proof: &serde_json::Value) -> Result<String, Reply> {
    let reply = browse(server, "POST", "/login", &[PAGE], &proof.to_string());
    if reply.status != 204 {
        return Err(reply);
    }
    let cookie = reply.header("set-cookie").unwrap().to_owned();
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"), "{cookie}");
    Ok(format!("cookie: other=1; {}", cookie.split(';').next().unwrap()))
}

#[test]
fn a_link_lets_one_browser_in_and_no_other() {
    let server = Guarded::new();
    let link = server.short_token("link", TokenRole::Operator, 600_000);
    let cookie = log_in(&server, &json!({ "code": link })).unwrap();
    assert_eq!(browse(&server, "GET", "/api/v1/sessions", &[&cookie], "").status, 200);
    let again = log_in(&server, &json!({ "code": link })).unwrap_err();
    assert_eq!(again.problem(), "401 unauthorized");
    // What the link held is good for nothing else either.
    assert_eq!(server.ask("GET", "/sessions", Some(&link), "").problem(), "401 unauthorized");
    // It is an operator's still.
    let refused = browse(&server, "GET", "/api/v1/tokens", &[&cookie], "");
    assert_eq!(refused.problem(), "403 forbidden");
}

#[test]
fn a_link_ends_after_its_time() {
    let server = Guarded::new();
    let link = server.short_token("link", TokenRole::Admin, 600_000);
    server.clock.advance_ms(600_000);
    let late = log_in(&server, &json!({ "code": link })).unwrap_err();
    assert_eq!(late.problem(), "401 unauthorized");
}

#[test]
fn a_page_that_cannot_send_our_header_changes_nothing() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let cookie = log_in(&server, &json!({ "token": admin })).unwrap();
    let body = session("s1").to_string();
    let forged = browse(&server, "POST", "/api/v1/sessions", &[&cookie], &body);
    assert_eq!(forged.problem(), "403 forbidden");
    let made = browse(&server, "POST", "/api/v1/sessions", &[&cookie, PAGE], &body);
    assert_eq!(made.status, 201);
    let foreign = [&*cookie, PAGE, "origin: https://evil.example"];
    let foreign = browse(&server, "POST", "/api/v1/sessions", &foreign, &body);
    assert_eq!(foreign.problem(), "403 forbidden");
    let unasked = browse(&server, "POST", "/login", &[], &json!({ "token": admin }).to_string());
    assert_eq!(unasked.problem(), "403 forbidden");
}

#[test]
fn who_logs_out_is_out_also_with_the_cookie_kept() {
    let server = Guarded::new();
    let link = server.short_token("link", TokenRole::Viewer, 600_000);
    let cookie = log_in(&server, &json!({ "code": link })).unwrap();
    let left = browse(&server, "POST", "/logout", &[&cookie, PAGE], "");
    assert_eq!(left.status, 204);
    assert!(left.header("set-cookie").unwrap().starts_with("ah_token_4747=; Path=/; Max-Age=0"));
    let after = browse(&server, "GET", "/api/v1/sessions", &[&cookie], "");
    assert_eq!(after.problem(), "401 unauthorized");
}

#[test]
fn a_token_that_was_pasted_outlives_a_logout() {
    let server = Guarded::new();
    let admin = server.token("admin", TokenRole::Admin);
    let cookie = log_in(&server, &json!({ "token": admin })).unwrap();
    assert_eq!(browse(&server, "POST", "/logout", &[&cookie, PAGE], "").status, 204);
    assert_eq!(server.ask("GET", "/sessions", Some(&admin), "").status, 200);
}

#[test]
fn pages_are_for_everybody_and_run_nothing_but_their_own() {
    let server = Guarded::new();
    for path in ["/", "/login", "/sessions", "/sessions/s1", "/agents/mira", "/settings"] {
        let page = browse(&server, "GET", path, &[], "");
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        let tag = page.header("etag").unwrap().to_owned();
        let known = format!("if-none-match: {tag}");
        assert_eq!(browse(&server, "GET", path, &[&known], "").status, 304);
    }
    assert_eq!(browse(&server, "GET", "/assets/app.css", &[], "").status, 200);
    for path in ["/assets/nothing.js", "/assets/..%2fCargo.toml", "/agents/a/b"] {
        assert_eq!(browse(&server, "GET", path, &[], "").problem(), "404 no-such-path", "{path}");
    }
}

#[test]
fn a_session_is_saved_as_the_program_exports_it_and_by_nobody_without_a_token() {
    let server = Guarded::new();
    let link = server.short_token("link", TokenRole::Operator, 600_000);
    let cookie = log_in(&server, &json!({ "code": link })).unwrap();
    let id = "s:1";
    let body = session(id).to_string();
    assert_eq!(browse(&server, "POST", "/api/v1/sessions", &[&cookie, PAGE], &body).status, 201);
    let path = format!("/api/v1/sessions/{id}/export");
    let saved = browse(&server, "GET", &path, &[&cookie], "");
    assert_eq!((saved.status, saved.header("content-type")), (200, Some("application/x-ndjson")));
    let file = "attachment; filename=\"session-s_1.jsonl\"";
    assert_eq!(saved.header("content-disposition"), Some(file));
    let header = ah_store::check_export(&mut saved.body.as_slice()).unwrap();
    assert_eq!(header.session.id.as_str(), id);
    assert_eq!(browse(&server, "GET", &path, &[], "").problem(), "401 unauthorized");
    let nowhere = browse(&server, "GET", "/api/v1/sessions/no/export", &[&cookie], "");
    assert_eq!(nowhere.problem(), "404 not-found");
}
