//! Runtimes: known by type and container path, numbered once.

use ah_model::{Cursor, Runtime, RuntimeSpec, RuntimeType};

use crate::Harness;
use crate::given::{all, create, from_cursor, json, new_session, paged, refusal};

fn container(path: Option<&str>) -> RuntimeSpec {
    RuntimeSpec { kind: RuntimeType::Devcontainer, devcontainer_path: path.map(str::to_owned) }
}

fn plain(kind: RuntimeType) -> RuntimeSpec {
    RuntimeSpec { kind, devcontainer_path: None }
}

pub async fn a_runtime_keeps_its_number_and_its_metadata_until_other_is_given(h: &mut dyn Harness) {
    let store = h.store();
    let first = store.put_runtime(container(None), None).await.unwrap();
    assert_eq!((first.spec.clone(), first.metadata.clone()), (container(None), None));
    let described = Runtime { metadata: Some(json(r#"{"z":1e5,"a":0}"#)), ..first };
    let put = store.put_runtime(container(None), described.metadata.clone()).await;
    assert_eq!(put.unwrap(), described);
    assert_eq!(store.put_runtime(container(None), None).await.unwrap(), described);
    h.reopen().await;
    assert_eq!(h.store().list_runtimes(all()).await.unwrap().items, [described]);
}

pub async fn runtimes_differ_by_type_and_path_and_are_paged_by_number(h: &mut dyn Harness) {
    let store = h.store();
    let mut put = Vec::new();
    for spec in [
        plain(RuntimeType::Disabled),
        container(Some("/b")),
        container(None),
        container(Some("")),
        plain(RuntimeType::Local),
        container(Some("/a")),
    ] {
        put.push(store.put_runtime(spec, None).await.unwrap());
    }
    for size in [1, 2, 3, 6] {
        assert_eq!(paged(size, |page| store.list_runtimes(page)).await, put, "size {size}");
    }
    let page = from_cursor(Cursor::Text("a".to_owned()));
    assert_eq!(refusal(store.list_runtimes(page).await), "invalid cursor");
}

pub async fn creating_a_session_registers_its_runtime_and_leaves_its_metadata(h: &mut dyn Harness) {
    let store = h.store();
    let known = store.put_runtime(RuntimeSpec::default(), Some(json("0"))).await.unwrap();
    create(h, "s1").await;
    let mut other = new_session("s2");
    other.runtime = container(Some("/c"));
    store.create_session(other).await.unwrap();
    let runtimes = store.list_runtimes(all()).await.unwrap().items;
    assert_eq!(runtimes[0], known);
    assert_eq!((runtimes.len(), &runtimes[1].spec), (2, &container(Some("/c"))));
}

pub async fn only_a_container_has_a_path(h: &mut dyn Harness) {
    let store = h.store();
    let local = RuntimeSpec { kind: RuntimeType::Local, ..container(Some("/a")) };
    let long = container(Some(&"x".repeat(4 * 1024 + 1)));
    for bad in [local, long, container(Some("a\0"))] {
        assert_eq!(refusal(store.put_runtime(bad, None).await), "invalid devcontainer path");
    }
    assert_eq!(store.list_runtimes(all()).await.unwrap().items, []);
}
