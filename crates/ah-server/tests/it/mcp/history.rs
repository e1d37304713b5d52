//! Sessions and their events: searched and read, by who lived through them.

use ah_model::{NewEvent, RawJson};
use ah_store::{Agents, Sessions, block_on};
use serde_json::{Value, json};

use super::given::Harbor;
use super::wire::{Era, Wire};

/// Appends events to the session of an agent, and returns its id.
fn remember(harbor: &Harbor, name: &str, texts: &[&str]) -> String {
    let agent = harbor.agent(name);
    let event = |text: &&str| {
        let data = RawJson::of(&json!({ "role": "user", "content": [{ "text": text }] })).unwrap();
        NewEvent { kind: "message".to_owned(), data, dedup_key: None, ts: None }
    };
    let events = texts.iter().map(event).collect();
    block_on(harbor.store.append_to_agent(agent.id, None, events)).unwrap();
    agent.active_session_id.unwrap().to_string()
}

#[test]
fn text_is_found_in_one_s_own_events_and_titles_and_nobody_else_s() {
    let harbor = Harbor::new();
    let session = remember(&harbor, "alice", &["the Harbour master", "nothing", "a \"harbour\""]);
    remember(&harbor, "bob", &["bob's harbour"]);
    let title = "Harbour works".to_owned();
    block_on(harbor.store.rename_session(session.parse().unwrap(), title)).unwrap();
    let mut alice = harbor.lines("alice");
    let found = alice.tool("search_history", json!({ "query": "HARBOUR" }));
    let hits = found["hits"].as_array().unwrap();
    let seqs: Vec<_> = hits.iter().map(|hit| hit["seq"].as_u64()).collect();
    assert_eq!(seqs, [None, Some(3), Some(1)]);
    assert_eq!(hits[1]["text"], "a \"harbour\"");
    assert_eq!(hits[1]["uri"], format!("ah://sessions/{session}/events?after=2"));
    assert_eq!((&found["sessions"], &found["unfinished"]), (&json!(1), &json!([])));
    let narrow =
        json!({ "query": "harbour", "sessionId": session, "beforeSeq": 3, "types": ["message"] });
    let hits = alice.tool("search_history", narrow)["hits"].clone();
    assert_eq!(hits.as_array().unwrap().len(), 2);
    // The operator searches everybody, or whom it names.
    let all = harbor.operator().tool("search_history", json!({ "query": "bob's" }));
    assert_eq!(all["hits"].as_array().unwrap().len(), 1);
}

#[test]
fn a_search_ends_at_its_bound_and_says_where_it_goes_on() {
    let harbor = Harbor::new();
    let session = remember(&harbor, "alice", &["needle"; 60]);
    let mut alice = harbor.lines("alice");
    let found = alice.tool("search_history", json!({ "query": "needle" }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 50);
    assert_eq!(found["unfinished"], json!([{ "sessionId": session, "beforeSeq": 11 }]));
    let rest = json!({ "query": "needle", "sessionId": session, "beforeSeq": 11 });
    let found = alice.tool("search_history", rest);
    assert_eq!(found["hits"].as_array().unwrap().len(), 10);
    assert_eq!(found["unfinished"], json!([]));
}

#[test]
fn one_s_sessions_are_resources_and_others_are_not_there() {
    let harbor = Harbor::new();
    let own = remember(&harbor, "alice", &["one", "two", "three"]);
    let other = remember(&harbor, "bob", &["secret"]);
    for (way, mut alice) in harbor.ways("alice") {
        let listed = alice.done("resources/list", json!({}));
        let uri = format!("ah://sessions/{own}");
        let uris: Vec<_> =
            listed["resources"].as_array().unwrap().iter().map(|one| one["uri"].clone()).collect();
        assert_eq!(uris, [json!(uri)], "{way}");
        let read = |wire: &mut dyn Wire, uri: &str| {
            let read = wire.done("resources/read", json!({ "uri": uri }));
            let text = read["contents"][0]["text"].as_str().unwrap().to_owned();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        assert_eq!(read(alice.as_mut(), &uri)["lastSeq"], 3, "{way}");
        let events = read(alice.as_mut(), &format!("{uri}/events?after=1&limit=1"));
        assert_eq!((&events["items"][0]["seq"], &events["nextAfter"]), (&json!(2), &json!(2)));
        let templates = alice.done("resources/templates/list", json!({}));
        assert_eq!(templates["resourceTemplates"].as_array().unwrap().len(), 2, "{way}");
        let missing = if alice.era() == Era::V2026_07_28 { -32602 } else { -32002 };
        for (uri, code) in [
            (format!("ah://sessions/{other}"), missing),
            (format!("ah://sessions/{other}/events"), missing),
            ("ah://sessions/nothing".to_owned(), missing),
            ("file:///etc/passwd".to_owned(), missing),
            (format!("ah://sessions/{own}/secrets"), missing),
            (format!("ah://sessions/{own}/events?after=x"), -32602),
            (format!("ah://sessions/{own}/events?colour=x"), -32602),
            ("ah://sessions/../x".to_owned(), missing),
        ] {
            let error = alice.exchange("resources/read", json!({ "uri": uri }))["error"].clone();
            assert_eq!(error["code"], code, "{way} {uri}: {error}");
        }
    }
}

#[test]
fn sessions_are_listed_a_page_at_a_time() {
    let harbor = Harbor::new();
    let alice_id = harbor.agent("alice").id;
    for _ in 0..60 {
        let how = ah_model::Beginning::Reset { message: None };
        block_on(harbor.store.renew_agent(alice_id.clone(), ah_model::Renewal::new(how))).unwrap();
    }
    let mut alice = harbor.lines("alice");
    let first = alice.done("resources/list", json!({}));
    assert_eq!(first["resources"].as_array().unwrap().len(), 50);
    let rest = alice.done("resources/list", json!({ "cursor": first["nextCursor"] }));
    assert_eq!(rest["resources"].as_array().unwrap().len(), 11);
    assert_eq!(rest["nextCursor"], Value::Null);
    let error = alice.exchange("resources/list", json!({ "cursor": "?" }))["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
}
