//! Runtimes in SQL.

use ah_model::{Page, PageRequest, RawJson, Runtime, RuntimeSpec, RuntimeType};
use ah_store::{Runtimes, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::tx::{Row, Tx, query_first};

// The oldest wins: nothing forbids two equal rows, and both mean the same.
const FIND: &str = "SELECT id FROM runtimes \
    WHERE type = $1 AND devcontainer_path IS NOT DISTINCT FROM CAST($2 AS text) ORDER BY id LIMIT 1";
const INSERT: &str =
    "INSERT INTO runtimes (type, devcontainer_path, metadata) VALUES ($1, $2, $3) RETURNING id";

/// The number of a runtime, registered if it has not been seen.
pub(crate) fn ensure(tx: &mut dyn Tx, spec: &RuntimeSpec) -> Result<i64, StoreError> {
    let path = spec.devcontainer_path.as_ref();
    let kind = spec.kind.as_str();
    if let Some(id) = query_first(tx, FIND, &[kind.into(), path.into()], |row| row.int(0))? {
        return Ok(id);
    }
    let params = [kind.into(), path.into(), Option::<&str>::None.into()];
    query_first(tx, INSERT, &params, |row| row.int(0))?
        .ok_or_else(|| StoreError::backend("register a runtime", "no row came back"))
}

const SET_METADATA: &str = "UPDATE runtimes SET metadata = coalesce($1, metadata) WHERE id = $2 \
    RETURNING id, type, devcontainer_path, metadata";

fn put(
    tx: &mut dyn Tx,
    spec: &RuntimeSpec,
    metadata: Option<&RawJson>,
) -> Result<Runtime, StoreError> {
    let id = ensure(tx, spec)?;
    let metadata = metadata.map(RawJson::as_str);
    query_first(tx, SET_METADATA, &[metadata.into(), id.into()], read)?
        .ok_or_else(|| StoreError::backend("register a runtime", "no row came back"))
}

const LIST: &str = "SELECT id, type, devcontainer_path, metadata FROM runtimes \
    WHERE id > $1 ORDER BY id LIMIT $2";

/// The columns type and devcontainer_path. A type nobody knows executes nothing.
pub(crate) fn read_spec(row: &Reader<'_>) -> Result<RuntimeSpec, StoreError> {
    let kind = row.text()?.parse().unwrap_or(RuntimeType::Disabled);
    Ok(RuntimeSpec { kind, devcontainer_path: row.opt_text()? })
}

fn read(row: &dyn Row) -> Result<Runtime, StoreError> {
    let row = Reader::new(row);
    Ok(Runtime { id: row.int()?, spec: read_spec(&row)?, metadata: row.opt_json()? })
}

#[async_trait]
impl Runtimes for SqlStore {
    async fn put_runtime(
        &self,
        spec: RuntimeSpec,
        metadata: Option<RawJson>,
    ) -> Result<Runtime, StoreError> {
        spec.check()?;
        self.write(move |tx, _| put(tx, &spec, metadata.as_ref())).await
    }

    async fn list_runtimes(&self, page: PageRequest) -> Result<Page<Runtime>, StoreError> {
        self.page_by_number(LIST, page, read, |runtime| runtime.id).await
    }
}
