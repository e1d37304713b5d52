//! Claims that wait: woken at once, each by a run of its own, and never for a client that has gone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::given::{Waiting, claim_of, claimed, queue};
use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};

/// Far less than a claim waits, far more than one takes that is woken at once.
const AT_ONCE: Duration = Duration::from_secs(10);

fn status(server: &SqliteServer, run: &str) -> Value {
    get(server.address(), &format!("/runs/{run}")).json()["status"].take()
}

#[test]
fn a_run_is_given_to_who_waits_for_it_at_once() {
    let server = SqliteServer::new();
    for number in 0..10 {
        let waiting = Waiting::send(server.address(), "e1", &[]);
        let since = Instant::now();
        queue(server.address(), number, json!({}));
        assert_eq!(waiting.answer(), Some(format!("r{number}")));
        assert!(since.elapsed() < AT_ONCE);
    }
}

#[test]
fn every_one_of_many_who_wait_gets_a_run_of_its_own() {
    let server = SqliteServer::new();
    let address = server.address();
    let waiting: Vec<_> = (0..20).map(|n| Waiting::send(address, &format!("e{n}"), &[])).collect();
    (0..20).for_each(|number| queue(address, number, json!({})));
    let given: BTreeSet<String> = waiting.into_iter().map(|w| w.answer().unwrap()).collect();
    assert_eq!(given, (0..20).map(|number| format!("r{number}")).collect());
}

#[test]
fn a_run_passes_those_who_do_not_offer_what_it_demands() {
    let server = SqliteServer::new();
    let address = server.address();
    let plain = Waiting::send(address, "plain", &[]);
    let gpu = Waiting::send(address, "gpu", &["gpu"]);
    queue(address, 1, json!({ "tags": ["gpu"] }));
    assert_eq!(gpu.answer(), Some("r1".to_owned()));
    queue(address, 2, json!({}));
    assert_eq!(plain.answer(), Some("r2".to_owned()));
}

#[test]
fn a_run_that_nobody_waits_for_is_there_for_the_next_claim() {
    let server = SqliteServer::new();
    let address = server.address();
    let other = Waiting::send(address, "plain", &[]);
    queue(address, 1, json!({ "tags": ["gpu"] }));
    let claim = ask(address, "POST", "/runs/claim?wait=30", &claim_of("gpu", &["gpu"]));
    assert_eq!(claimed(&claim), Some("r1".to_owned()));
    let nothing = ask(address, "POST", "/runs/claim", &claim_of("gpu", &["gpu"]));
    assert_eq!(nothing.json(), json!({ "run": null }));
    other.hang_up();
}

#[test]
fn a_client_that_has_gone_claims_nothing() {
    let server = SqliteServer::new();
    let address = server.address();
    for round in 0..10 {
        let gone: Vec<_> = (0..5).map(|n| Waiting::send(address, &format!("e{n}"), &[])).collect();
        gone.into_iter().for_each(Waiting::hang_up);
        queue(address, round, json!({}));
        let claim = ask(address, "POST", "/runs/claim?wait=5", &claim_of("here", &[]));
        assert_eq!(claimed(&claim), Some(format!("r{round}")));
    }
}

#[test]
fn a_run_wakes_another_when_the_first_who_waited_has_gone() {
    let server = SqliteServer::new();
    let address = server.address();
    for round in 0..10 {
        let first = Waiting::send(address, "e1", &[]);
        let second = Waiting::send(address, "e2", &[]);
        first.hang_up();
        queue(address, round, json!({}));
        assert_eq!(second.answer(), Some(format!("r{round}")));
    }
}

#[test]
fn a_run_that_is_queued_again_wakes_who_waits() {
    let server = SqliteServer::new();
    let address = server.address();
    let executor = json!({ "id": "lost" }).to_string();
    assert_eq!(ask(address, "PUT", "/executors/lost", &executor).status, 200);
    queue(address, 1, json!({}));
    let claim = ask(address, "POST", "/runs/claim", &claim_of("lost", &[]));
    assert_eq!(claimed(&claim), Some("r1".to_owned()));
    let waiting = Waiting::send(address, "e2", &[]);
    let removed = ask(address, "DELETE", "/executors/lost", "").json();
    assert_eq!(removed["items"][0]["status"], "pending");
    assert_eq!(waiting.answer(), Some("r1".to_owned()));
    assert_eq!(status(&server, "r1"), "claimed");
}

#[test]
fn an_executor_that_is_asked_to_go_waits_no_longer() {
    let server = SqliteServer::new();
    let address = server.address();
    let executor = json!({ "id": "e1" }).to_string();
    assert_eq!(ask(address, "PUT", "/executors/e1", &executor).status, 200);
    let (asked, other) = (Waiting::send(address, "e1", &[]), Waiting::send(address, "e2", &[]));
    let since = Instant::now();
    assert_eq!(ask(address, "POST", "/executors/e1/removal", "").status, 200);
    assert_eq!(asked.answer(), None);
    assert!(since.elapsed() < AT_ONCE);
    queue(address, 1, json!({}));
    assert_eq!(other.answer(), Some("r1".to_owned()));
}

#[test]
fn a_server_that_stops_answers_those_who_wait() {
    let mut server = SqliteServer::new();
    let waiting: Vec<_> =
        (0..5).map(|n| Waiting::send(server.address(), &format!("e{n}"), &[])).collect();
    let since = Instant::now();
    server.stop();
    assert!(waiting.into_iter().all(|waiting| waiting.answer().is_none()));
    assert!(since.elapsed() < AT_ONCE);
}

#[test]
fn a_claim_with_a_key_waits_and_is_given_the_same_run_again() {
    let server = SqliteServer::new();
    let address = server.address();
    let claim = || {
        let mut connection = Connection::open(address);
        let key = ["idempotency-key: k1"];
        let body = claim_of("e1", &[]);
        connection.send(request("POST", "/api/v1/runs/claim?wait=30", &key, &body));
        connection
    };
    let mut first = claim();
    assert_eq!(get(address, "/runs?limit=1").status, 200);
    queue(address, 1, json!({}));
    queue(address, 2, json!({}));
    let given = first.reply().json();
    assert_eq!(given["run"]["id"], "r1");
    assert_eq!(claim().reply().json(), given);
}

#[test]
fn what_no_claim_may_say_is_refused_before_it_waits() {
    let server = SqliteServer::new();
    let address = server.address();
    let ask = |query: &str, body: &str| {
        ask(address, "POST", &format!("/runs/claim{query}"), body).problem()
    };
    assert_eq!(ask("?wait=31", &claim_of("e1", &[])), "422 invalid wait");
    assert_eq!(ask("?wait=30", &claim_of("e1", &[""])), "422 invalid tags");
    let short = json!({ "executorId": "e1", "leaseMs": 1 }).to_string();
    assert_eq!(ask("?wait=30", &short), "422 invalid leaseMs");
}
