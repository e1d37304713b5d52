//! Key/value pairs in SQL.

use ah_model::{Cursor, KvEntry, Page, PageRequest, check_kv, check_scope};
use ah_store::{KeyValues, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::{sized_page, text_cursor};
use crate::reader::Reader;
use crate::tx::{Row, query_all, query_first};

const GET: &str = "SELECT scope, k, v FROM kv WHERE scope = $1 AND k = $2";
const SET: &str = "INSERT INTO kv (scope, k, v) VALUES ($1, $2, $3) \
    ON CONFLICT (scope, k) DO UPDATE SET v = excluded.v";
const DELETE: &str = "DELETE FROM kv WHERE scope = $1 AND k = $2";
const LIST: &str = "SELECT scope, k, v FROM kv WHERE scope = $1 AND k > $2 ORDER BY k LIMIT $3";

fn read(row: &dyn Row) -> Result<KvEntry, StoreError> {
    let row = Reader::new(row);
    let (scope, key) = (row.text()?, row.text()?);
    Ok(KvEntry { scope, key, value: row.opt_text()?.unwrap_or_default() })
}

#[async_trait]
impl KeyValues for SqlStore {
    async fn kv_get(&self, scope: String, key: String) -> Result<KvEntry, StoreError> {
        check_kv(&scope, &key, None)?;
        self.read(move |tx, _| {
            query_first(tx, GET, &[(&scope).into(), (&key).into()], read)?
                .ok_or_else(|| StoreError::not_found(Kind::Key, format!("{scope}/{key}")))
        })
        .await
    }

    async fn kv_set(&self, entry: KvEntry) -> Result<(), StoreError> {
        check_kv(&entry.scope, &entry.key, Some(&entry.value))?;
        self.write(move |tx, _| {
            let params = [(&entry.scope).into(), (&entry.key).into(), (&entry.value).into()];
            tx.execute(SET, &params).map(drop)
        })
        .await
    }

    async fn kv_delete(&self, scope: String, key: String) -> Result<(), StoreError> {
        check_kv(&scope, &key, None)?;
        self.write(move |tx, _| match tx.execute(DELETE, &[(&scope).into(), (&key).into()])? {
            0 => Err(StoreError::not_found(Kind::Key, format!("{scope}/{key}"))),
            _ => Ok(()),
        })
        .await
    }

    async fn kv_list(&self, scope: String, page: PageRequest) -> Result<Page<KvEntry>, StoreError> {
        check_scope(&scope)?;
        let first = text_cursor(page.cursor.as_ref())?.unwrap_or("").to_owned();
        self.read(move |tx, _| {
            let some = |last: Option<&KvEntry>, rows: usize| {
                let after = last.map_or(first.as_str(), |entry| &entry.key);
                let params = [(&scope).into(), after.into(), (rows as u64).into()];
                query_all(tx, LIST, &params, read)
            };
            let size = |entry: &KvEntry| entry.value.len();
            sized_page(page.limit, some, size, |entry| Cursor::Text(entry.key.clone()))
        })
        .await
    }
}
