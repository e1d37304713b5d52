//! Waiting for the end of a run.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::given::{claim_of, claimed, new_session, queue};
use crate::harness::SqliteServer;
use crate::http::{Connection, ask, get, request};

/// A server whose run `r1` somebody holds.
fn server() -> SqliteServer {
    let server = SqliteServer::new();
    queue(server.address(), 1, json!({}));
    let claim = ask(server.address(), "POST", "/runs/claim", &claim_of("e1", &[]));
    assert_eq!(claimed(&claim), Some("r1".to_owned()));
    server
}

/// Asks for the end of `r1`, and sees that the server works on it.
fn wait(address: SocketAddr) -> Connection {
    let mut connection = Connection::open(address);
    connection.send(request("GET", "/api/v1/runs/r1/wait?seconds=60", &[], ""));
    (0..3).for_each(|_| assert_eq!(get(address, "/runs/r1").status, 200));
    connection
}

fn finish(address: SocketAddr) -> Value {
    let body = json!({ "epoch": 1, "end": { "outcome": "completed", "result": { "n": 1 } } });
    let reply = ask(address, "POST", "/runs/r1/finish", &body.to_string());
    assert_eq!(reply.status, 200);
    reply.json()
}

#[test]
fn the_end_of_a_run_is_told_to_who_waits_for_it() {
    let server = server();
    let address = server.address();
    let mut waiting = wait(address);
    // What is said of the run before is no end.
    let started = ask(address, "POST", "/runs/r1/start", r#"{"epoch":1}"#);
    assert_eq!(started.json()["status"], "running");
    let ended = finish(address);
    assert_eq!(waiting.reply().json(), ended);
    assert_eq!(get(address, "/runs/r1/wait?seconds=60").json(), ended);
}

#[test]
fn a_wait_for_a_run_ends_with_its_session() {
    let server = SqliteServer::new();
    let address = server.address();
    queue(address, 1, json!({}));
    let mut waiting = wait(address);
    assert_eq!(ask(address, "DELETE", "/sessions/s1", "").status, 204);
    assert_eq!(waiting.reply().problem(), "404 not-found");
    assert_eq!(get(address, "/runs/none/wait?seconds=1").problem(), "404 not-found");
    assert_eq!(get(address, "/runs/r1/wait?seconds=61").problem(), "422 invalid seconds");
}

#[test]
fn a_wait_for_a_run_shows_it_as_it_is_when_the_server_stops() {
    let mut server = server();
    let mut waiting = wait(server.address());
    server.stop();
    assert_eq!(waiting.reply().json()["status"], "claimed");
}

#[test]
fn a_session_that_is_asked_to_stop_tells_who_holds_its_run() {
    let server = server();
    let address = server.address();
    let stopped = ask(address, "POST", "/sessions/s1/stop?return=session", "");
    assert_eq!((stopped.status, &stopped.json()["id"]), (202, &json!("s1")));
    let orders = || ask(address, "POST", "/executors/e1/stop-orders", "").json();
    assert_eq!(orders()["items"][0]["id"], "r1");
    assert_eq!(orders()["items"], json!([]), "each is handed out once");
    let other = ask(address, "POST", "/sessions/s1/stop?return=all", "");
    assert_eq!(other.problem(), "422 invalid return");
}

#[test]
fn a_run_in_the_body_must_be_the_one_in_the_path() {
    let server = server();
    let address = server.address();
    let run = finish(address);
    assert_eq!(ask(address, "POST", "/sessions", &new_session("s2").to_string()).status, 201);
    let import = |path: &str| ask(address, "PUT", path, &run.to_string());
    assert_eq!(import("/run-imports/r2").problem(), "422 invalid run id");
    assert_eq!(import("/run-imports/r1").json(), json!({ "restored": false }));
}
