//! Agent kinds in SQL.

use ah_model::{AgentKind, AgentKindRef, Page, PageRequest, RawJson};
use ah_store::{AgentKinds, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::tx::{Row, Tx, query_first};

const PUT: &str = "INSERT INTO agents (name, version, metadata) VALUES ($1, $2, $3) \
    ON CONFLICT (name, version) DO UPDATE SET metadata = coalesce(excluded.metadata, agents.metadata) \
    RETURNING id, name, version, metadata";

fn put(
    tx: &mut dyn Tx,
    kind: &AgentKindRef,
    metadata: Option<&RawJson>,
) -> Result<AgentKind, StoreError> {
    let metadata = metadata.map(RawJson::as_str);
    let params = [(&kind.name).into(), (&kind.version).into(), metadata.into()];
    query_first(tx, PUT, &params, read)?
        .ok_or_else(|| StoreError::backend("register an agent kind", "no row came back"))
}

const FIND: &str = "SELECT id FROM agents WHERE name = $1 AND version = $2";

/// The number of a kind, registered if it has not been seen.
pub(crate) fn ensure(tx: &mut dyn Tx, kind: &AgentKindRef) -> Result<i64, StoreError> {
    let params = [(&kind.name).into(), (&kind.version).into()];
    match query_first(tx, FIND, &params, |row| row.int(0))? {
        Some(id) => Ok(id),
        None => put(tx, kind, None).map(|kind| kind.id),
    }
}

const LIST: &str =
    "SELECT id, name, version, metadata FROM agents WHERE id > $1 ORDER BY id LIMIT $2";

fn read(row: &dyn Row) -> Result<AgentKind, StoreError> {
    let row = Reader::new(row);
    Ok(AgentKind {
        id: row.int()?,
        kind: AgentKindRef { name: row.text()?, version: row.text()? },
        metadata: row.opt_json()?,
    })
}

#[async_trait]
impl AgentKinds for SqlStore {
    async fn put_agent_kind(
        &self,
        kind: AgentKindRef,
        metadata: Option<RawJson>,
    ) -> Result<AgentKind, StoreError> {
        kind.check()?;
        self.write(move |tx, _| put(tx, &kind, metadata.as_ref())).await
    }

    async fn list_agent_kinds(&self, page: PageRequest) -> Result<Page<AgentKind>, StoreError> {
        self.page_by_number(LIST, page, read, |kind| kind.id).await
    }
}
