//! Key/value pairs. Scope and key are in the query: they may hold any character, also `/`.

use ah_model::{KvEntry, Page, PageRequest};
use ah_store::{KeyValues, StoreError};
use async_trait::async_trait;

use crate::RestStore;
use crate::address::Target;

fn entry_of(scope: &str, key: &str) -> Target {
    Target::new(["kv", "entry"]).pair("scope", scope).pair("key", key)
}

#[async_trait]
impl KeyValues for RestStore {
    async fn kv_get(&self, scope: String, key: String) -> Result<KvEntry, StoreError> {
        self.http.get(&entry_of(&scope, &key))
    }

    async fn kv_set(&self, entry: KvEntry) -> Result<(), StoreError> {
        self.http.put(&Target::new(["kv", "entry"]), &entry)
    }

    async fn kv_delete(&self, scope: String, key: String) -> Result<(), StoreError> {
        self.http.delete(&entry_of(&scope, &key))
    }

    async fn kv_list(&self, scope: String, page: PageRequest) -> Result<Page<KvEntry>, StoreError> {
        self.http.list(Target::new(["kv"]).pair("scope", scope).query(&page))
    }
}
