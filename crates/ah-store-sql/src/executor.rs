//! Executors in SQL.

use ah_model::{
    Cursor, Executor, ExecutorId, NewExecutor, Page, PageRequest, RawJson, Run, limits,
};
use ah_store::{Executors, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::{sized_page, text_cursor};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_all, query_first};
use crate::{change, run};

/// Rows that were never registered here belong to programs that only enrolled them.
const SELECT: &str = "SELECT executor_id, offer, details, generation, created_at, \
    enrollment_timestamp, seen_at, removal_requested_at FROM executors WHERE generation > 0";

fn read(row: &dyn Row) -> Result<Executor, StoreError> {
    let row = Reader::new(row);
    let id = row.parse()?;
    let offer = row.json()?.read().unwrap_or_default();
    let (details, generation, created_at) = (row.json()?, row.uint()?, row.time()?);
    let registered_at = row.time()?;
    Ok(Executor {
        id,
        offer,
        details,
        generation,
        created_at,
        registered_at,
        seen_at: row.opt_time()?.unwrap_or(registered_at),
        removal_requested_at: row.opt_time()?,
    })
}

fn get(tx: &mut dyn Tx, id: &ExecutorId) -> Result<Executor, StoreError> {
    query_first(tx, &format!("{SELECT} AND executor_id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Executor, id))
}

const REGISTER: &str = "INSERT INTO executors (executor_id, enrollment_timestamp, \
    identity_provider, offer, details, generation, seen_at, created_at, updated_at) \
    VALUES ($1, $2, 'token', $3, $4, 1, $2, $2, $2) \
    ON CONFLICT (executor_id) DO UPDATE SET enrollment_timestamp = excluded.enrollment_timestamp, \
    offer = excluded.offer, details = excluded.details, generation = executors.generation + 1, \
    seen_at = excluded.seen_at, updated_at = excluded.updated_at, removal_requested_at = NULL";

fn register(tx: &mut dyn Tx, ctx: &Resources, new: &NewExecutor) -> Result<Executor, StoreError> {
    let offer = RawJson::of(&new.offer)?;
    let params = [
        new.id.as_str().into(),
        ctx.now().into(),
        offer.as_str().into(),
        new.details.as_str().into(),
    ];
    tx.execute(REGISTER, &params)?;
    change::executor(tx, ctx, &new.id)?;
    get(tx, &new.id)
}

const SEEN: &str = "UPDATE executors SET seen_at = $1 WHERE executor_id = $2";
const ASK: &str = "UPDATE executors SET removal_requested_at = $1 \
    WHERE executor_id = $2 AND removal_requested_at IS NULL";

fn ask_to_go(tx: &mut dyn Tx, ctx: &Resources, id: &ExecutorId) -> Result<Executor, StoreError> {
    get(tx, id)?;
    if tx.execute(ASK, &[ctx.now().into(), id.as_str().into()])? > 0 {
        change::executor(tx, ctx, id)?;
    }
    get(tx, id)
}

const REMOVE: &str = "DELETE FROM executors WHERE executor_id = $1";

fn remove(tx: &mut dyn Tx, ctx: &Resources, id: &ExecutorId) -> Result<Vec<Run>, StoreError> {
    get(tx, id)?;
    let lost = run::lose(tx, ctx, id)?;
    tx.execute(REMOVE, &[id.as_str().into()])?;
    change::executor(tx, ctx, id)?;
    Ok(lost)
}

#[async_trait]
impl Executors for SqlStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        executor.check()?;
        self.once(move |tx, ctx| register(tx, ctx, &executor)).await
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.read(move |tx, _| get(tx, &id)).await
    }

    async fn list_executors(&self, page: PageRequest) -> Result<Page<Executor>, StoreError> {
        let first = text_cursor(page.cursor.as_ref())?.unwrap_or("").to_owned();
        let sql = format!("{SELECT} AND executor_id > $1 ORDER BY executor_id LIMIT $2");
        self.read(move |tx, _| {
            let some = |last: Option<&Executor>, rows: usize| {
                let after = last.map_or(first.as_str(), |executor| executor.id.as_str());
                query_all(tx, &sql, &[after.into(), (rows as u64).into()], read)
            };
            let size = |executor: &Executor| executor.details.as_str().len();
            sized_page(page.limit, some, size, |executor| Cursor::Text(executor.id.to_string()))
        })
        .await
    }

    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        let asked = id.clone();
        let known = self.read(move |tx, _| get(tx, &asked)).await?;
        if known.seen_at.plus_ms(limits::SEEN_EVERY_MS) > self.inner.resources.now() {
            return Ok(known);
        }
        self.write(move |tx, ctx| {
            tx.execute(SEEN, &[ctx.now().into(), id.as_str().into()])?;
            get(tx, &id)
        })
        .await
    }

    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.write(move |tx, ctx| ask_to_go(tx, ctx, &id)).await
    }

    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.write(move |tx, ctx| remove(tx, ctx, &id)).await
    }
}
