//! Workspaces in SQL.

use ah_model::{Page, PageRequest, Workspace};
use ah_store::{Kind, StoreError, Workspaces};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_first};

const FIND: &str = "SELECT id FROM workspaces WHERE name = $1";

/// The number of the workspace of that name, if there is one.
pub(crate) fn find(tx: &mut dyn Tx, name: &str) -> Result<Option<i64>, StoreError> {
    query_first(tx, FIND, &[name.into()], |row| row.int(0))
}

const INSERT: &str = "INSERT INTO workspaces (name, external_id, created_at) VALUES ($1, $2, $3) \
    RETURNING id, name, external_id, created_at";

fn create(
    tx: &mut dyn Tx,
    ctx: &Resources,
    name: &str,
    external_id: Option<&String>,
) -> Result<Workspace, StoreError> {
    if find(tx, name)?.is_some() {
        return Err(StoreError::conflict(Kind::Workspace, name, "exists already"));
    }
    query_first(tx, INSERT, &[name.into(), external_id.into(), ctx.now().into()], read)?
        .ok_or_else(|| StoreError::backend("create a workspace", "no row came back"))
}

const LIST: &str = "SELECT id, name, external_id, created_at FROM workspaces \
    WHERE id > $1 ORDER BY id LIMIT $2";

fn read(row: &dyn Row) -> Result<Workspace, StoreError> {
    let row = Reader::new(row);
    Ok(Workspace {
        id: row.int()?,
        name: row.text()?,
        external_id: row.opt_text()?,
        created_at: row.time()?,
    })
}

#[async_trait]
impl Workspaces for SqlStore {
    async fn create_workspace(
        &self,
        name: String,
        external_id: Option<String>,
    ) -> Result<Workspace, StoreError> {
        self.inner.resources.need_workspaces()?;
        Workspace::check(&name, external_id.as_deref())?;
        self.once(move |tx, ctx| create(tx, ctx, &name, external_id.as_ref())).await
    }

    async fn list_workspaces(&self, page: PageRequest) -> Result<Page<Workspace>, StoreError> {
        self.inner.resources.need_workspaces()?;
        self.page_by_number(LIST, page, read, |workspace| workspace.id).await
    }
}
