//! Executors whose ids are addresses themselves.

use ah_conformance::Harness;
use ah_model::{ExecutorFilter, ExecutorId, NewExecutor, Offer, PageRequest, RawJson, TokenRole};
use ah_store::block_on;
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
