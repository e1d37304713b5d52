//! Executors whose ids are addresses themselves.

use ah_conformance::Harness;
use ah_model::{ExecutorId, NewExecutor, Offer, PageRequest, RawJson};
use ah_store::block_on;
use serde_json::json;

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
    assert_eq!(block_on(store.list_executors(PageRequest::default())).unwrap().items, []);
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
