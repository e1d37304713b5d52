//! Key/value pairs: apart by scope, listed in the order of their bytes.

use ah_model::{Cursor, KvEntry, PageLimit, PageRequest, limits};

use crate::Harness;
use crate::given::{all, from_cursor, paged, refusal};

fn pair(scope: &str, key: &str, value: &str) -> KvEntry {
    KvEntry { scope: scope.to_owned(), key: key.to_owned(), value: value.to_owned() }
}

async fn get(h: &dyn Harness, scope: &str, key: &str) -> Result<KvEntry, ah_store::StoreError> {
    h.store().kv_get(scope.to_owned(), key.to_owned()).await
}

pub async fn the_last_value_written_is_read_in_its_scope_only(h: &mut dyn Harness) {
    let store = h.store();
    store.kv_set(pair("user", "k", "one")).await.unwrap();
    store.kv_set(pair("user", "k", "☃ two\n")).await.unwrap();
    store.kv_set(pair("repo", "k", "")).await.unwrap();
    h.reopen().await;
    assert_eq!(get(h, "user", "k").await.unwrap(), pair("user", "k", "☃ two\n"));
    assert_eq!(get(h, "repo", "k").await.unwrap(), pair("repo", "k", ""));
    assert_eq!(refusal(get(h, "system", "k").await), "not-found key system/k");
    assert_eq!(refusal(get(h, "user", "K").await), "not-found key user/K");
}

pub async fn a_deleted_pair_is_gone_and_deleting_it_again_is_not_found(h: &mut dyn Harness) {
    let store = h.store();
    store.kv_set(pair("user", "k", "v")).await.unwrap();
    let delete = || store.kv_delete("user".to_owned(), "k".to_owned());
    delete().await.unwrap();
    assert_eq!(refusal(delete().await), "not-found key user/k");
    assert_eq!(refusal(get(h, "user", "k").await), "not-found key user/k");
}

pub async fn pairs_are_paged_by_the_bytes_of_their_key_each_once(h: &mut dyn Harness) {
    let store = h.store();
    let in_order = ["!", "10", "9", "A", "Z", "_", "a", "a b", "aa", "z", "ä", "ﬁ", "𝒳"];
    for key in in_order.iter().rev() {
        store.kv_set(pair("user", key, key)).await.unwrap();
        store.kv_set(pair("other", key, "-")).await.unwrap();
    }
    let expected: Vec<_> = in_order.iter().map(|key| pair("user", key, key)).collect();
    for size in [1, 2, 3, 13, 14] {
        let read = paged(size, |page| store.kv_list("user".to_owned(), page)).await;
        assert_eq!(read, expected, "size {size}");
    }
    let empty = store.kv_list("nobody".to_owned(), all()).await.unwrap();
    assert_eq!((empty.items, empty.next_cursor), (vec![], None));
    let page = from_cursor(Cursor::Number(1));
    let refused = refusal(store.kv_list("user".to_owned(), page).await);
    assert_eq!(refused, "invalid cursor");
}

pub async fn large_pairs_are_listed_each_once_however_many_fit_a_page(h: &mut dyn Harness) {
    let store = h.store();
    let value = "x".repeat(limits::KV_VALUE_BYTES_MAX);
    let keys: Vec<String> = (10..50).map(|number| format!("k{number}")).collect();
    for key in &keys {
        store.kv_set(pair("user", key, &value)).await.unwrap();
    }
    let (mut listed, mut cursor) = (Vec::new(), None);
    loop {
        let request = PageRequest { limit: PageLimit::MAX, cursor };
        let page = store.kv_list("user".to_owned(), request).await.unwrap();
        assert!(!page.items.is_empty());
        listed.extend(page.items.into_iter().map(|entry| entry.key));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, keys);
}

pub async fn values_up_to_the_limit_are_kept(h: &mut dyn Harness) {
    let key = "k".repeat(limits::KV_KEY_BYTES_MAX);
    let entry = pair("user", &key, &"v".repeat(limits::KV_VALUE_BYTES_MAX));
    h.store().kv_set(entry.clone()).await.unwrap();
    assert_eq!(get(h, "user", &key).await.unwrap(), entry);
}

pub async fn bad_pairs_are_refused_and_the_old_value_stays(h: &mut dyn Harness) {
    let store = h.store();
    store.kv_set(pair("user", "k", "old")).await.unwrap();
    let long_value = "v".repeat(limits::KV_VALUE_BYTES_MAX + 1);
    let long_key = "k".repeat(limits::KV_KEY_BYTES_MAX + 1);
    for (bad, field) in [
        (pair("user", "k", "a\0b"), "value"),
        (pair("user", "k", &long_value), "value"),
        (pair("user", "", "v"), "key"),
        (pair("user", " ", "v"), "key"),
        (pair("user", "k\0", "v"), "key"),
        (pair("user", &long_key, "v"), "key"),
        (pair("", "k", "v"), "scope"),
        (pair("user\0", "k", "v"), "scope"),
    ] {
        assert_eq!(refusal(store.kv_set(bad).await), format!("invalid {field}"));
    }
    let pairs = store.kv_list("user".to_owned(), all()).await.unwrap();
    assert_eq!(pairs.items, [pair("user", "k", "old")]);
}

pub async fn asking_for_a_name_that_cannot_be_is_invalid(h: &mut dyn Harness) {
    let store = h.store();
    assert_eq!(refusal(get(h, "user", "k\0").await), "invalid key");
    assert_eq!(refusal(get(h, "", "k").await), "invalid scope");
    let deleted = store.kv_delete("user".to_owned(), String::new()).await;
    assert_eq!(refusal(deleted), "invalid key");
    let listed = store.kv_list("\0".to_owned(), all()).await;
    assert_eq!(refusal(listed), "invalid scope");
}
