//! Drafts in SQL.

use ah_model::{
    Cursor, Draft, DraftFields, DraftId, NewTask, Page, PageRequest, RawJson, TaskBatch,
};
use ah_store::{Drafts, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::{sized_page, text_cursor};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::task;
use crate::tx::{Row, Tx, query_all, query_first};

const SAVE: &str = "INSERT INTO drafts \
    (id, description, repository, branch, models, created_at, updated_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $6) \
    ON CONFLICT (id) DO UPDATE SET description = excluded.description, \
    repository = excluded.repository, branch = excluded.branch, models = excluded.models, \
    updated_at = excluded.updated_at \
    RETURNING id, description, repository, branch, models, created_at, updated_at";

fn save(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: Option<&DraftId>,
    fields: &DraftFields,
) -> Result<Draft, StoreError> {
    let now = ctx.now();
    let id = match id {
        Some(id) => id.clone(),
        None => ctx.ids.draft(now)?,
    };
    let models = RawJson::of(&fields.models)?;
    let params = [
        id.as_str().into(),
        (&fields.description).into(),
        (&fields.repository).into(),
        fields.branch.as_ref().into(),
        models.as_str().into(),
        now.into(),
    ];
    query_first(tx, SAVE, &params, read)?
        .ok_or_else(|| StoreError::backend("save a draft", "no row came back"))
}

const GET: &str = "SELECT id, description, repository, branch, models, created_at, updated_at \
    FROM drafts WHERE id = $1";
const LIST: &str = "SELECT id, description, repository, branch, models, created_at, updated_at \
    FROM drafts WHERE id > $1 ORDER BY id LIMIT $2";
const DELETE: &str = "DELETE FROM drafts WHERE id = $1";

fn delete(tx: &mut dyn Tx, id: &DraftId) -> Result<(), StoreError> {
    match tx.execute(DELETE, &[id.as_str().into()])? {
        0 => Err(StoreError::not_found(Kind::Draft, id)),
        _ => Ok(()),
    }
}

fn read(row: &dyn Row) -> Result<Draft, StoreError> {
    let row = Reader::new(row);
    let id = row.parse()?;
    let fields = DraftFields {
        description: row.text()?,
        repository: row.text()?,
        branch: row.opt_text()?,
        models: row.json()?.read().unwrap_or_default(),
    };
    Ok(Draft { id, fields, created_at: row.time()?, updated_at: row.time()? })
}

#[async_trait]
impl Drafts for SqlStore {
    async fn save_draft(
        &self,
        id: Option<DraftId>,
        fields: DraftFields,
    ) -> Result<Draft, StoreError> {
        fields.check()?;
        let fields = self.clean(fields);
        self.once(move |tx, ctx| save(tx, ctx, id.as_ref(), &fields)).await
    }

    async fn draft(&self, id: DraftId) -> Result<Draft, StoreError> {
        self.read(move |tx, _| {
            query_first(tx, GET, &[id.as_str().into()], read)?
                .ok_or_else(|| StoreError::not_found(Kind::Draft, &id))
        })
        .await
    }

    async fn list_drafts(&self, page: PageRequest) -> Result<Page<Draft>, StoreError> {
        let first = text_cursor(page.cursor.as_ref())?.unwrap_or("").to_owned();
        self.read(move |tx, _| {
            let some = |last: Option<&Draft>, rows: usize| {
                let after = last.map_or(first.as_str(), |draft| draft.id.as_str());
                query_all(tx, LIST, &[after.into(), (rows as u64).into()], read)
            };
            let size = |draft: &Draft| draft.fields.description.len();
            sized_page(page.limit, some, size, |draft| Cursor::Text(draft.id.to_string()))
        })
        .await
    }

    async fn delete_draft(&self, id: DraftId) -> Result<(), StoreError> {
        self.write(move |tx, _| delete(tx, &id)).await
    }

    async fn launch_draft(&self, id: DraftId, task: NewTask) -> Result<TaskBatch, StoreError> {
        task.check()?;
        let task = self.clean(task);
        self.once(move |tx, ctx| {
            delete(tx, &id)?;
            task::create(tx, ctx, &task)
        })
        .await
    }
}
