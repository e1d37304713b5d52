//! Key/value pairs by scope.

use ah_model::{KvEntry, Page, PageRequest};
use async_trait::async_trait;

use crate::StoreError;

/// Small settings and caches.
#[async_trait]
pub trait KeyValues {
    /// The pair under `key`.
    async fn kv_get(&self, scope: String, key: String) -> Result<KvEntry, StoreError>;

    /// Writes a pair over what was there.
    async fn kv_set(&self, entry: KvEntry) -> Result<(), StoreError>;

    /// Removes a pair; one that is not there is `NotFound`.
    async fn kv_delete(&self, scope: String, key: String) -> Result<(), StoreError>;

    /// The pairs of a scope, by key in byte order. A page may end early
    /// when what it holds is large.
    async fn kv_list(&self, scope: String, page: PageRequest) -> Result<Page<KvEntry>, StoreError>;
}
