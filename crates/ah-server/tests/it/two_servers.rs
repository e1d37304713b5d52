//! Two servers of one database: what happens at one is seen at the other.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;

use serde_json::json;

use crate::given::{Waiting, claim_of, claimed, new_session, queue};
use crate::harness::{Served, SqliteServer};
use crate::http::ask;
use crate::postgres::PostgresServer;
use crate::stream::Stream;

/// A harness and another server of its database.
fn sqlite() -> (SqliteServer, Served) {
    let mut server = SqliteServer::new();
    let other = server.another();
    (server, other)
}

fn a_run_wakes_who_waits_at_the_other(one: SocketAddr, other: SocketAddr) {
    for number in 0..5 {
        let waiting = Waiting::send(other, "e1", &[]);
        queue(one, number, json!({}));
        assert_eq!(waiting.answer(), Some(format!("r{number}")));
    }
    let claim = ask(one, "POST", "/runs/claim", &claim_of("e2", &[]));
    assert_eq!(claimed(&claim), None, "each was claimed once");
}

/// Bursts of runs, queued from both sides at once: everybody gets one of its kind, and none is left.
fn everybody_gets_a_run(one: SocketAddr, other: SocketAddr) {
    for round in 1..=10 {
        let waiting: Vec<_> = (0..8)
            .map(|number| {
                let place = [one, other][number / 4];
                Waiting::send(place, &format!("e{number}"), &[KINDS[number % 2]])
            })
            .collect();
        thread::scope(|scope| {
            for (side, place) in [one, other].into_iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..4 {
                        let demands = json!({ "tags": [KINDS[number % 2]] });
                        queue(place, round * 100 + side * 10 + number, demands);
                    }
                });
            }
        });
        let given: BTreeSet<_> = waiting.into_iter().map(|waiting| waiting.answer()).collect();
        assert_eq!((given.len(), given.contains(&None)), (8, false), "{given:?}");
    }
}

const KINDS: [&str; 2] = ["cpu", "gpu"];

fn an_event_reaches_who_reads_at_the_other(one: SocketAddr, other: SocketAddr) {
    assert_eq!(ask(one, "POST", "/sessions", &new_session("x1").to_string()).status, 201);
    let mut session = Stream::open(other, "/sessions/x1/events", &[]);
    let mut feed = Stream::open(other, "/feed?session=x1&types=event", &[]);
    for number in 1..=5 {
        let body = json!({ "events": [{ "type": "a" }] }).to_string();
        assert_eq!(ask(one, "POST", "/sessions/x1/events", &body).status, 201);
        assert_eq!(session.frame().id, number.to_string());
        assert_eq!(feed.frame().data["event"]["seq"], number);
    }
}

#[test]
fn what_happens_at_one_server_is_seen_at_the_other_sqlite() {
    let (one, other) = sqlite();
    a_run_wakes_who_waits_at_the_other(one.address(), other.address());
    everybody_gets_a_run(one.address(), other.address());
    an_event_reaches_who_reads_at_the_other(one.address(), other.address());
}

#[test]
fn what_happens_at_one_server_is_seen_at_the_other_postgres() {
    let Some(mut one) = PostgresServer::open_or_skip() else { return };
    let other = one.another();
    a_run_wakes_who_waits_at_the_other(one.address(), other.address());
    everybody_gets_a_run(one.address(), other.address());
    an_event_reaches_who_reads_at_the_other(one.address(), other.address());
}
