//! Executors whose ids are addresses themselves.

use std::net::TcpListener;
use std::sync::Arc;

use ah_client::{RestOptions, RestStore};
use ah_conformance::{Harness, SeededIds, TestClock};
use ah_model::{
    ExecutorFilter, ExecutorId, ExecutorPresence, Load, NewExecutor, Offer, PageRequest,
    PresentRun, Quality, RawJson, TokenRole,
};
use ah_server::{RunningServer, ServerState};
use ah_store::{Capabilities, Ids, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::json;

use crate::guarded::{Guarded, session};
use crate::harness::SqliteServer;
use crate::http::{ask, get};

#[test]
fn any_id_of_an_executor_survives_the_way_through_a_path() {
    let server = SqliteServer::new();
    let store = server.store();
    let all: String = (b'!'..=b'~').map(char::from).collect();
    for id in ["spiffe://harbor.example/runner/a%2Fb?c#d", ".", "..", "a/../b", "//", "%2e", &all] {
        let id: ExecutorId = id.parse().unwrap();
        let offer = Offer { hostname: Some(id.to_string()), ..Offer::default() };
        let new = NewExecutor { id: id.clone(), offer, details: RawJson::null() };
        let registered = block_on(store.register_executor(new)).unwrap();
        assert_eq!(registered.id, id);
        assert_eq!(block_on(store.executor(id.clone())).unwrap(), registered);
        assert_eq!(block_on(store.executor_seen(id.clone())).unwrap().id, id);
        assert_eq!(block_on(store.stop_orders(id.clone())).unwrap(), []);
        assert_eq!(block_on(store.remove_executor(id)).unwrap(), []);
    }
    assert_eq!(
        block_on(store.list_executors(ExecutorFilter::default(), PageRequest::default()))
            .unwrap()
            .items,
        []
    );
}

#[test]
fn an_executor_is_who_the_path_says() {
    let server = SqliteServer::new();
    let address = server.address();
    let body = json!({ "id": "spiffe://h/x" }).to_string();
    let registered = ask(address, "PUT", "/executors/spiffe:%2F%2fh%2Fx", &body);
    assert_eq!(registered.json()["id"], "spiffe://h/x");
    assert_eq!(get(address, "/executors/spiffe%3a%2F%2Fh%2Fx").json(), registered.json());
    let other = ask(address, "PUT", "/executors/e1", &body);
    assert_eq!(other.problem(), "422 invalid executor id");
    assert_eq!(get(address, "/executors/spiffe://h/x").problem(), "404 no-such-path");
}

#[test]
fn who_is_connected_is_what_the_access_point_of_this_process_says() {
    let directory = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(directory.path().join("state.db"));
    let (clock, ids) = (Arc::new(TestClock::new()), Ids::new(Box::new(SeededIds::new(1))));
    let capabilities = Capabilities { workspaces: true };
    let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
    let state = ServerState::new(Arc::new(store)).sweeping_after(None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = RunningServer::start(listener, state.clone()).unwrap();
    let options = RestOptions::new(format!("http://{}", server.address()));
    let client = RestStore::connect(options).unwrap();
    assert_eq!(client.executors_present().unwrap(), []);
    let held = PresentRun {
        run_id: "r1".parse().unwrap(),
        epoch: 3,
        state: Some("running".to_owned()),
        lease_left_ms: Some(5_000),
    };
    let one = ExecutorPresence {
        executor_id: "spiffe://h/x".parse().unwrap(),
        generation: 2,
        quality: Quality::Poor,
        rtt_ms: Some(600),
        connected_for_ms: 60_000,
        heard_ago_ms: 10,
        heartbeats: 12,
        load: Load { cpu: Some(0.5), ..Load::default() },
        room: 1,
        drift: 0,
        runs: vec![held],
    };
    let said = vec![one];
    let source = said.clone();
    state.ask_for_presence(Arc::new(move || {
        let present = source.clone();
        Box::pin(async move { present })
    }));
    assert_eq!(client.executors_present().unwrap(), said);
    server.stop().unwrap();
}

#[test]
fn only_an_admin_speaks_for_another() {
    let server = Guarded::new();
    let [admin, ann] = [("root", TokenRole::Admin), ("ann", TokenRole::Operator)]
        .map(|(name, role)| server.token(name, role));
    let run = |session: &str, asked: Option<&str>| json!({ "sessionId": session, "kind": "start", "parameters": {}, "requestedBy": asked });
    for (name, token, asked, expected) in [
        ("s1", &ann, Some("bob"), "ann"),
        ("s2", &ann, None, "ann"),
        ("s3", &admin, Some("bob"), "bob"),
        ("s4", &admin, None, "root"),
    ] {
        server.done("POST", "/sessions", &admin, &session(name));
        let queued = server.done("POST", "/runs", token, &run(name, asked));
        assert_eq!(queued["requestedBy"], expected, "{name}");
    }
    server.done("PUT", "/executors/e", &admin, &json!({ "id": "e" }));
    let change = json!({ "change": { "addTags": ["gpu"] }, "by": "bob" });
    let changed = server.done("POST", "/executors/e/changes", &ann, &change);
    assert_eq!(changed["tags"], json!(["gpu"]));
    let history = server.ask("GET", "/executor-events?executorId=e", Some(&ann), "").json();
    assert_eq!(history["items"][0]["data"]["by"], "ann");
}

#[test]
fn what_an_executor_proves_is_not_for_executors_to_say() {
    let server = Guarded::new();
    let executor = server.token("e", TokenRole::Executor);
    let enrolment = json!({ "id": "e", "identityProvider": "spiffe" }).to_string();
    let refused = server.ask("PUT", "/executors/e/enrolment", Some(&executor), &enrolment);
    assert_eq!(refused.problem(), "403 forbidden");
    let change = json!({ "change": { "status": "active" } }).to_string();
    let refused = server.ask("POST", "/executors/e/changes", Some(&executor), &change);
    assert_eq!(refused.problem(), "403 forbidden");
}
