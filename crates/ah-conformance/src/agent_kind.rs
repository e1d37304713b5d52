//! Agent kinds: known by name and version, numbered once.

use ah_model::{AgentKind, AgentKindRef, Cursor};

use crate::Harness;
use crate::given::{all, create, from_cursor, json, kind, paged, refusal};

pub async fn a_kind_keeps_its_number_and_its_metadata_until_other_is_given(h: &mut dyn Harness) {
    let store = h.store();
    let first = store.put_agent_kind(kind("codex@1.2"), None).await.unwrap();
    assert_eq!((first.kind.clone(), first.metadata.clone()), (kind("codex@1.2"), None));

    let metadata = json(r#"{"b":1.00,"a":[]}"#);
    let described = AgentKind { metadata: Some(metadata.clone()), ..first };
    let put = store.put_agent_kind(kind("codex@1.2"), Some(metadata)).await;
    assert_eq!(put.unwrap(), described);
    assert_eq!(store.put_agent_kind(kind("codex@1.2"), None).await.unwrap(), described);

    let null = AgentKind { metadata: Some(json("null")), ..described };
    let put = store.put_agent_kind(kind("codex@1.2"), Some(json("null"))).await;
    assert_eq!(put.unwrap(), null, "the value null is metadata");
    h.reopen().await;
    assert_eq!(h.store().list_agent_kinds(all()).await.unwrap().items, [null]);
}

pub async fn kinds_are_paged_by_number_each_once(h: &mut dyn Harness) {
    let store = h.store();
    let mut put = Vec::new();
    for name in ["z", "a@1", "a@2", "m", "a", "Z"] {
        put.push(store.put_agent_kind(kind(name), None).await.unwrap());
    }
    for size in [1, 2, 3, 6, 7] {
        assert_eq!(paged(size, |page| store.list_agent_kinds(page)).await, put, "size {size}");
    }
    let page = from_cursor(Cursor::Text("a".to_owned()));
    assert_eq!(refusal(store.list_agent_kinds(page).await), "invalid cursor");
}

pub async fn creating_a_session_registers_its_kind_and_leaves_its_metadata(h: &mut dyn Harness) {
    let store = h.store();
    let metadata = Some(json(r#"{"colour":"red"}"#));
    let known = store.put_agent_kind(kind("claude-code"), metadata).await.unwrap();
    create(h, "s1").await;
    assert_eq!(store.list_agent_kinds(all()).await.unwrap().items, [known]);
}

pub async fn a_kind_that_cannot_be_typed_is_refused_and_not_kept(h: &mut dyn Harness) {
    let store = h.store();
    let long = "x".repeat(65);
    for (name, version) in [("", "1"), ("a b", "1"), ("a", ""), ("a", "1\0"), (&long, "1")] {
        let bad = AgentKindRef { name: name.to_owned(), version: version.to_owned() };
        assert_eq!(refusal(store.put_agent_kind(bad, None).await), "invalid agent kind");
    }
    assert_eq!(store.list_agent_kinds(all()).await.unwrap().items, []);
}
