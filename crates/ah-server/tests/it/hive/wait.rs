//! Long polls: answered when there is something, and not much later than asked.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Hive;
use crate::http::{Connection, ask_as, request};

/// Asks to wait, without waiting for the answer.
fn waiting(hive: &Hive, token: &str, what: &str) -> Connection {
    let mut connection = hive.server.connect();
    let token = format!("authorization: Bearer {token}");
    connection.send(request("GET", &format!("/api/v1/hive/wait?{what}"), &[&token], ""));
    connection
}

/// Asks until the server has so many requests under way beside the one that asks.
fn until_under_way(hive: &Hive, count: usize) {
    let line = format!("ah_http_requests_in_flight {}", count + 1);
    let began = Instant::now();
    let mut connection = hive.server.connect();
    loop {
        let reply = ask_as(&mut connection, ("GET", "/metrics"), Some(&hive.admin), "");
        let text = String::from_utf8(reply.body).unwrap();
        if text.lines().any(|found| found == line) {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "never {line}");
    }
}

#[test]
fn a_wait_ends_with_what_it_waits_for() {
    let hive = Hive::new();
    let (question, approval) = (hive.ask("mira", "operator"), hive.request("mira"));
    let began = Instant::now();
    let mut waits = [
        waiting(&hive, &hive.nils, "mail=nils"),
        waiting(&hive, &hive.mira, &format!("question={question}")),
        waiting(&hive, &hive.mira, &format!("approval={approval}")),
        waiting(&hive, &hive.operator, "mail=nils"),
    ];
    hive.send("mira", "nils", "b");
    let answer = json!({ "by": "operator", "values": ["x"] });
    hive.done(&hive.operator, "POST", &format!("/questions/{question}/answer"), answer);
    let decision = json!({ "verdict": "denied", "by": "operator" });
    hive.done(&hive.operator, "POST", &format!("/approvals/{approval}/decision"), decision);
    for wait in &mut waits {
        let reply = wait.reply();
        assert_eq!((reply.status, reply.json()), (200, json!({ "ready": true })));
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    // What is there already is not waited for.
    for what in ["mail=nils".to_owned(), format!("question={question}")] {
        assert_eq!(waiting(&hive, &hive.admin, &what).reply().json(), json!({ "ready": true }));
    }
}

#[test]
fn a_wait_for_nothing_ends_when_its_time_is_over() {
    let hive = Hive::new();
    let began = Instant::now();
    let reply = waiting(&hive, &hive.mira, "mail=mira&waitMs=300").reply();
    assert_eq!((reply.status, reply.json()), (200, json!({ "ready": false })));
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    for (what, problem) in [
        ("mail=mira&waitMs=25001", "422 invalid waitMs"),
        ("mail=mira&question=q", "422 invalid query"),
        ("", "422 invalid query"),
        ("question=none", "404 not-found"),
        ("approval=none", "404 not-found"),
    ] {
        for token in [&hive.mira, &hive.admin] {
            assert_eq!(waiting(&hive, token, what).reply().problem(), problem, "{what}");
        }
    }
}

#[test]
fn a_server_that_stops_ends_every_wait() {
    let hive = Hive::new();
    let mut waits: Vec<_> = (0..20).map(|_| waiting(&hive, &hive.mira, "mail=mira")).collect();
    until_under_way(&hive, waits.len());
    let began = Instant::now();
    hive.server.stop();
    for wait in &mut waits {
        let reply = wait.reply();
        assert_eq!((reply.status, reply.json()), (200, json!({ "ready": false })));
    }
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

#[test]
fn many_waits_leave_room_for_other_requests() {
    let hive = Hive::new();
    // More than the calls into the store that may be under way at once.
    let mut waits: Vec<_> = (0..200).map(|_| waiting(&hive, &hive.mira, "mail=mira")).collect();
    until_under_way(&hive, waits.len());
    let began = Instant::now();
    hive.send("nils", "mira", "b");
    for wait in &mut waits {
        assert_eq!(wait.reply().json(), json!({ "ready": true }));
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn who_goes_away_waits_no_longer() {
    let hive = Hive::new();
    let waits = [waiting(&hive, &hive.mira, "mail=mira"), waiting(&hive, &hive.nils, "mail=nils")];
    until_under_way(&hive, 2);
    drop(waits);
    until_under_way(&hive, 0);
}
