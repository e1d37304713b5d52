//! Key/value pairs in the oracle.

use ah_model::{Cursor, KvEntry, Page, PageRequest, check_kv};
use ah_store::{KeyValues, Kind, StoreError};
use async_trait::async_trait;

use super::{ModelStore, after_text, overfull};

#[async_trait]
impl KeyValues for ModelStore {
    async fn kv_get(&self, scope: String, key: String) -> Result<KvEntry, StoreError> {
        check_kv(&scope, &key, None)?;
        let at = (scope, key);
        let value = self.read(|rows| rows.pairs.get(&at).cloned());
        let (scope, key) = at;
        match value {
            Some(value) => Ok(KvEntry { scope, key, value }),
            None => Err(StoreError::not_found(Kind::Key, format!("{scope}/{key}"))),
        }
    }

    async fn kv_set(&self, entry: KvEntry) -> Result<(), StoreError> {
        check_kv(&entry.scope, &entry.key, Some(&entry.value))?;
        self.write(|rows, _| {
            rows.pairs.insert((entry.scope, entry.key), entry.value);
            Ok(())
        })
    }

    async fn kv_delete(&self, scope: String, key: String) -> Result<(), StoreError> {
        check_kv(&scope, &key, None)?;
        self.write(|rows, _| match rows.pairs.remove(&(scope.clone(), key.clone())) {
            Some(_) => Ok(()),
            None => Err(StoreError::not_found(Kind::Key, format!("{scope}/{key}"))),
        })
    }

    async fn kv_list(&self, scope: String, page: PageRequest) -> Result<Page<KvEntry>, StoreError> {
        // Only the scope is asked about; any good key does for the rule.
        check_kv(&scope, "key", None)?;
        let after = after_text(&page)?;
        self.read(|rows| {
            let pairs = rows.pairs.iter().filter(|((of, key), _)| {
                *of == scope && after.is_none_or(|after| key.as_str() > after)
            });
            let entries = pairs.map(|((scope, key), value)| KvEntry {
                scope: scope.clone(),
                key: key.clone(),
                value: value.clone(),
            });
            let items = overfull(entries, &page);
            let cursor = |entry: &KvEntry| Cursor::Text(entry.key.clone());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }
}
