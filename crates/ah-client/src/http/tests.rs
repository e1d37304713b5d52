//! Answers of every sort, and what a caller gets of them.

use std::net::TcpListener;
use std::time::Duration;

use ah_model::{EventQuery, KvEntry, NewEvent, PageRequest, RawJson, SessionId};
use ah_store::{Capabilities, Events, Feature, KeyValues, Kind, Store, Workspaces, block_on};

use super::*;
use crate::test_server::{Answer, TestServer};
use crate::{RestOptions, RestStore};

const TOKEN: &str = "secret-token";

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn get(store: &RestStore) -> Result<KvEntry, StoreError> {
    block_on(store.kv_get("s".to_owned(), "k".to_owned()))
}

fn entry() -> KvEntry {
    KvEntry { scope: "s".to_owned(), key: "k".to_owned(), value: "v".to_owned() }
}

const ENTRY: &str = r#"{"scope":"s","key":"k","value":"v","links":{"self":"/x"}}"#;

/// What a store makes of one answer to a read.
fn error_of(answer: impl Fn() -> Answer + Send + Sync + 'static) -> StoreError {
    let server = TestServer::new(move |_, _| answer());
    get(&server.store()).unwrap_err()
}

/// The message with its cause.
fn shown(error: &StoreError) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    format!("{error}: {}", source.unwrap_or_default())
}

#[test]
fn capabilities_are_asked_once_and_extra_keys_are_passed_over() {
    let server = TestServer::new(|_, _| Answer::json(ENTRY));
    let store = server.store();
    assert_eq!(store.capabilities(), Capabilities { workspaces: true });
    assert_eq!(get(&store).unwrap(), entry());
    assert_eq!(server.lines(), ["GET /api/v1/kv/entry?scope=s&key=k"]);
}

#[test]
fn a_problem_is_the_error_it_was_made_of() {
    for error in [
        StoreError::not_found(Kind::Session, "s1"),
        StoreError::conflict(Kind::Run, "r1", "is stopped"),
        Invalid::new("limit", "0").into(),
        StoreError::Unsupported { feature: Feature::Workspaces },
        StoreError::Busy { retry_after: Duration::from_millis(250) },
        StoreError::Unauthorized,
        StoreError::Forbidden { reason: None },
        StoreError::Forbidden { reason: Some("the token is for alice".to_owned()) },
    ] {
        let problem = Problem::from(&error);
        let body = serde_json::to_string(&problem).unwrap();
        for kind in ["application/problem+json", "application/json"] {
            let (status, body) = (problem.status, body.clone());
            let back = error_of(move || Answer::Body(status, kind, body.clone()));
            assert_eq!(format!("{back:?}"), format!("{error:?}"));
        }
    }
}

#[test]
fn a_problem_with_little_in_it_is_one() {
    let error = error_of(|| Answer::Body(401, "text/plain", r#"{"code":"unauthorized"}"#.into()));
    assert!(matches!(error, StoreError::Unauthorized), "{error:?}");
    let error = error_of(|| Answer::problem(500, r#"{"code":"new-one","detail":"why"}"#));
    assert_eq!(shown(&error), "cannot do that remotely: why");
}

#[test]
fn any_other_refusal_says_its_status_and_how_it_begins() {
    for (status, body, part) in [
        (502, "<html>no</html>".to_owned(), "status 502 Bad Gateway: \"<html>no</html>\""),
        (404, String::new(), "status 404 Not Found"),
        (404, r#"{"error":"x"}"#.to_owned(), r#"status 404 Not Found: "{\"error\":\"x\"}""#),
        (418, "[1]".to_owned(), "status 418"),
        (500, "é".repeat(300), &format!("\"{}\"", "é".repeat(100))),
        (500, "\u{1b}[2J".to_owned(), r#""\u{1b}[2J""#),
        (302, "elsewhere".to_owned(), "status 302 Found: \"elsewhere\""),
        (404, r#"{"code":"not-found","kind":"moon"}"#.to_owned(), "moon"),
    ] {
        let error = error_of(move || Answer::Body(status, "text/html", body.clone()));
        assert!(matches!(error, StoreError::Backend { .. }), "{error:?}");
        assert!(shown(&error).contains(part), "{}", shown(&error));
        assert!(shown(&error).contains("answered to GET /api/v1/kv/entry: "), "{}", shown(&error));
    }
}

#[test]
fn odd_answers_are_errors_of_the_machine() {
    for body in ["", "null", "{}", "[", "\"x\"", "{\"scope\":1}", "<html>", "\u{0}"] {
        let error = error_of(move || Answer::json(body));
        assert!(matches!(error, StoreError::Backend { .. }), "{body:?}: {error:?}");
    }
    for bytes in [
        &b"SSH-2.0-OpenSSH_9\r\n"[..],
        b"HTTP/1.1 abc X\r\n\r\n",
        b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\n\xff\xfe",
        b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let error = error_of(move || Answer::Bytes(bytes.to_vec()));
        assert!(matches!(error, StoreError::Backend { .. }), "{error:?}");
    }
    let server = TestServer::new(|_, _| Answer::json("{}"));
    let lost = block_on(server.store().events(id("s"), EventQuery::default()));
    assert!(matches!(lost, Err(StoreError::Backend { .. })), "{lost:?}");
}

#[test]
fn an_answer_that_is_too_large_is_not_read() {
    let server = TestServer::new(|_, _| Answer::json("[1,2]"));
    let store = server.store();
    let target = Target::new(["x"]);
    assert_eq!(store.http.get::<Vec<u8>>(&target.clone().up_to(5)).unwrap(), [1, 2]);
    let error = store.http.get::<Vec<u8>>(&target.up_to(4)).unwrap_err();
    assert!(shown(&error).contains("larger than"), "{}", shown(&error));
    let huge = || {
        let length = LIST_BYTES_MAX + 1;
        Answer::Bytes(format!("HTTP/1.1 500 X\r\nContent-Length: {length}\r\n\r\n").into_bytes())
    };
    assert!(matches!(error_of(huge), StoreError::Unreachable { .. }));
}

#[test]
fn a_refusal_is_read_only_to_its_bound() {
    let error = error_of(|| Answer::Body(500, "text/plain", "x".repeat(2 << 20)));
    assert!(shown(&error).ends_with(&format!("\"{}\"", "x".repeat(200))), "{}", shown(&error));
}

#[test]
fn a_read_is_tried_again_when_the_connection_breaks() {
    for broken in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", b"HTTP/1.1 2"] {
        let server = TestServer::new(move |n, _| match n {
            0..3 => Answer::Bytes(broken.to_vec()),
            _ => Answer::json(ENTRY),
        });
        assert_eq!(get(&server.store()).unwrap(), entry());
        assert_eq!(server.received().len(), 4);
    }
}

#[test]
fn a_read_is_given_up_after_a_few_tries() {
    let server = TestServer::new(|_, _| Answer::HangUp);
    let error = get(&server.store()).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    assert_eq!(server.received().len(), 1 + RETRY_PAUSES.len());
}

#[test]
fn nothing_but_a_read_is_sent_twice() {
    let server = TestServer::new(|_, _| Answer::HangUp);
    let store = server.store();
    let event = NewEvent { kind: "x".into(), data: RawJson::null(), dedup_key: None, ts: None };
    let errors = [
        block_on(store.append_events(id("s"), vec![event])).unwrap_err(),
        block_on(store.kv_set(entry())).unwrap_err(),
        block_on(store.kv_delete("s".to_owned(), "k".to_owned())).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
    }
    assert_eq!(
        server.lines(),
        [
            "POST /api/v1/sessions/s/events",
            "PUT /api/v1/kv/entry",
            "DELETE /api/v1/kv/entry?scope=s&key=k",
        ]
    );
}

#[test]
fn a_write_with_a_key_is_sent_again_when_the_connection_breaks() {
    let server = TestServer::new(|n, _| match n {
        0..3 => Answer::HangUp,
        _ => Answer::json(
            r#"{"sessionId":"s","firstSeq":1,"lastSeq":1,"appended":1,"duplicates":0}"#,
        ),
    });
    let key = ah_model::RequestKey::new("k", [&b""[..]]).unwrap();
    let event = NewEvent { kind: "x".into(), data: RawJson::null(), dedup_key: None, ts: None };
    let appended = block_on(server.store().keyed(key).append_events(id("s"), vec![event]));
    assert_eq!(appended.unwrap().last_seq, 1);
    let received = server.received();
    assert_eq!(received.len(), 4);
    assert!(received.iter().all(|request| request.body == received[0].body));
}

#[test]
fn any_request_that_found_nobody_is_sent_again() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = RestOptions::new(free.to_string());
    let http = Http::new(options).unwrap();
    // Somebody comes while the first pauses last.
    let late = std::thread::spawn(move || {
        std::thread::sleep(RETRY_PAUSES[0] / 2);
        TestServer::at(free, |_, _| Answer::json(ENTRY))
    });
    http.put(&Target::new(["kv", "entry"]), &entry()).unwrap();
    assert_eq!(late.join().unwrap().lines(), ["PUT /api/v1/kv/entry"]);
}

#[test]
fn a_problem_is_no_reason_to_ask_again() {
    let server = TestServer::new(|_, _| Answer::problem(503, r#"{"code":"busy"}"#));
    let error = get(&server.store()).unwrap_err();
    assert!(matches!(error, StoreError::Busy { retry_after: Duration::ZERO }), "{error:?}");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn connections_are_used_again() {
    let server = TestServer::new(|n, _| match n % 3 {
        0 => Answer::json(ENTRY),
        1 => Answer::problem(404, r#"{"code":"not-found","kind":"key","id":"k"}"#),
        _ => Answer::Body(204, "x", String::new()),
    });
    let store = server.store();
    for _ in 0..3 {
        assert!(get(&store).is_ok());
        assert!(matches!(get(&store), Err(StoreError::NotFound { kind: Kind::Key, .. })));
        block_on(store.kv_set(entry())).unwrap();
    }
    assert!(server.received().iter().all(|request| request.connection == 0));
}

#[test]
fn a_connection_that_the_server_closed_fails_no_write() {
    let server = TestServer::new(|_, _| Answer::ThenClose(r#"{"items":[]}"#.to_owned()));
    let store = server.store();
    for n in 1..=20 {
        block_on(store.kv_set(entry())).unwrap();
        assert_eq!(server.received().len(), n);
        server.wait_closed(n);
    }
}

#[test]
fn nobody_there_is_unreachable() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [free.to_string(), "no-such-host.invalid:80".to_owned()] {
        match RestStore::connect(RestOptions::new(&address)) {
            Err(StoreError::Unreachable { server, .. }) => {
                assert_eq!(server, format!("http://{address}"));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_that_says_nothing_is_unreachable_when_the_time_is_over() {
    let server = TestServer::new(|_, _| Answer::Silence);
    let options = RestOptions { timeout: Duration::from_millis(100), ..server.options() };
    let error = get(&RestStore::connect(options).unwrap()).unwrap_err();
    let address = server.address();
    assert_eq!(shown(&error), format!("cannot reach http://{address}: no answer within 100ms"));
    assert_eq!(server.received().len(), 1);
}

#[test]
fn the_token_goes_to_the_server_and_nowhere_else() {
    let server = TestServer::new(|n, request| match n {
        0 => Answer::json(ENTRY),
        1 => Answer::Body(500, "text/plain", request.headers.join(" ")),
        2 => Answer::json(&format!("\"{TOKEN}\"")),
        _ => {
            let detail = format!(r#"{{"code":"backend","detail":"{TOKEN}"}}"#);
            Answer::problem(500, &detail)
        }
    });
    let options = RestOptions { token: Some(TOKEN.to_owned()), ..server.options() };
    let mut texts = vec![format!("{options:?}")];
    let store = RestStore::connect(options).unwrap();
    texts.push(format!("{store:?}"));
    get(&store).unwrap();
    for error in std::iter::repeat_with(|| get(&store).unwrap_err()).take(3) {
        texts.push(format!("{error:?} {}", shown(&error)));
    }
    for text in texts {
        assert!(!text.contains("secret"), "{text}");
    }
    let bearer =
        |header: &String| header.eq_ignore_ascii_case("authorization: bearer secret-token");
    assert!(server.received().iter().all(|request| request.headers.iter().any(bearer)));
}

#[test]
fn a_token_that_no_header_can_hold_is_refused_unseen() {
    for token in ["", "secret\r\nX: y", "secret\u{0}"] {
        let options = RestOptions { token: Some(token.to_owned()), ..RestOptions::new("h") };
        let error = RestStore::connect(options).unwrap_err();
        assert!(matches!(&error, StoreError::Invalid(invalid) if invalid.field == "token"));
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn nobody_is_sent_elsewhere_with_a_token() {
    let other = TestServer::new(|_, _| Answer::json(ENTRY));
    let location = format!("http://{}/x", other.address());
    let server = TestServer::new(move |_, _| {
        let head = format!("HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        Answer::Bytes(head.into_bytes())
    });
    let options = RestOptions { token: Some(TOKEN.to_owned()), ..server.options() };
    let error = get(&RestStore::connect(options).unwrap()).unwrap_err();
    assert!(shown(&error).ends_with("status 307 Temporary Redirect"), "{}", shown(&error));
    assert_eq!(other.received(), []);
}

#[test]
fn a_token_that_is_a_word_changes_no_problem() {
    let server = TestServer::new(|_, _| {
        Answer::problem(404, r#"{"code":"not-found","kind":"key","id":"code"}"#)
    });
    let options = RestOptions { token: Some("code".to_owned()), ..server.options() };
    let error = get(&RestStore::connect(options).unwrap()).unwrap_err();
    assert_eq!(shown(&error), "key code not found: ");
}

#[test]
fn options_that_cannot_work_are_refused_before_anybody_is_asked() {
    let ftp = RestStore::connect(RestOptions::new("ftp://localhost"));
    assert!(matches!(ftp, Err(StoreError::Invalid(invalid)) if invalid.field == "server"));
    let options = RestOptions { timeout: Duration::ZERO, ..RestOptions::new("localhost") };
    let zero = RestStore::connect(options);
    assert!(matches!(zero, Err(StoreError::Invalid(invalid)) if invalid.field == "timeout"));
}

#[test]
fn a_page_comes_with_its_cursor() {
    let server = TestServer::new(|_, _| {
        Answer::json(r#"{"items":[],"nextCursor":"6e37","pagination":{"total":3},"links":{}}"#)
    });
    let page = block_on(server.store().list_workspaces(PageRequest::default())).unwrap();
    assert_eq!(page, Page { items: vec![], next_cursor: Some(ah_model::Cursor::Number(7)) });
}

#[test]
fn payloads_keep_their_bytes() {
    let data = r#"{"n":1.00,"n":123456789012345678901234567890,"s":"\ud800\u0041"}"#;
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    let event = |seq: u64, data: &str| {
        format!(
            r#"{{"sessionId":"s","seq":{seq},"ts":"2026-01-01T00:00:00Z","type":"x","data":{data}}}"#
        )
    };
    let body = format!(r#"{{"items":[{},{}]}}"#, event(1, data), event(2, &deep));
    let server = TestServer::new(move |_, _| Answer::json(&body));
    let events = block_on(server.store().events(id("s"), EventQuery::default())).unwrap();
    let read: Vec<_> = events.iter().map(|event| event.data.as_str()).collect();
    assert_eq!(read, [data, deep.as_str()]);
}
