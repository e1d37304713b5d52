//! Executors in SQL: `row` reads and writes them, `history` keeps what happened to them.
//!
//! An executor is locked before what it holds.

mod history;
mod row;

use ah_model::{
    ChangeRefused, Cursor, Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorFilter,
    ExecutorId, NewExecutor, Page, PageRequest, RawJson, Run, limits,
};
use ah_store::{Executors, Kind, StoreError};
use async_trait::async_trait;

pub(crate) use self::history::note;
pub(crate) use self::row::{find, find_settled};
use crate::SqlStore;
use crate::page::{sized_page, text_cursor};
use crate::resources::Resources;
use crate::statement::Statement;
use crate::tx::{Tx, query_all};
use crate::{change, run};

/// The refusal of what an executor's status does not let happen.
fn refused(id: &ExecutorId) -> impl Fn(String) -> StoreError {
    move |reason| StoreError::conflict(Kind::Executor, id, reason)
}

fn register(tx: &mut dyn Tx, ctx: &Resources, new: &NewExecutor) -> Result<Executor, StoreError> {
    let now = ctx.now();
    let known = row::reserve(tx, &new.id, now)?;
    let executor = match &known {
        None => new.clone().register(now),
        Some(known) => new.clone().register_again(known, now).map_err(refused(&new.id))?,
    };
    row::save_said(tx, &executor)?;
    change::executor(tx, ctx, &new.id)?;
    row::get(tx, &new.id)
}

fn enrol(tx: &mut dyn Tx, ctx: &Resources, new: &Enrolment) -> Result<Executor, StoreError> {
    let now = ctx.now();
    let known = row::reserve(tx, &new.id, now)?;
    let enrolled = new.clone().enrol(known.as_ref(), now);
    let (executor, record) = enrolled.map_err(refused(&new.id))?;
    row::save_said(tx, &executor)?;
    if known.is_none_or(|known| known.machine != executor.machine) {
        row::save_machine(tx, &executor)?;
    }
    if let Some((kind, data)) = record {
        note(tx, ctx, &new.id, kind, &data)?;
    }
    change::executor(tx, ctx, &new.id)?;
    row::get(tx, &new.id)
}

/// Locks an executor that must be known.
fn lock(tx: &mut dyn Tx, id: &ExecutorId) -> Result<Executor, StoreError> {
    row::lock(tx, id)?.ok_or_else(|| StoreError::not_found(Kind::Executor, id))
}

fn change_given(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &ExecutorId,
    wanted: &ExecutorChange,
    by: Option<&str>,
) -> Result<Executor, StoreError> {
    let mut executor = lock(tx, id)?;
    let records = executor.change(wanted, by).map_err(|why| match why {
        ChangeRefused::Invalid(invalid) => invalid.into(),
        ChangeRefused::Status(reason) => refused(id)(reason),
    })?;
    if records.is_empty() {
        return Ok(executor);
    }
    row::save_given(tx, &executor, ctx.now())?;
    if !executor.status.may_connect() {
        run::lose(tx, ctx, id)?;
    }
    for (kind, data) in records {
        note(tx, ctx, id, kind, &data)?;
    }
    change::executor(tx, ctx, id)?;
    Ok(executor)
}

const SEEN: &str = "UPDATE executors SET seen_at = $1 WHERE executor_id = $2";
const ASK: &str = "UPDATE executors SET removal_requested_at = $1 \
    WHERE executor_id = $2 AND removal_requested_at IS NULL";

fn ask_to_go(tx: &mut dyn Tx, ctx: &Resources, id: &ExecutorId) -> Result<Executor, StoreError> {
    row::get(tx, id)?;
    if tx.execute(ASK, &[ctx.now().into(), id.as_str().into()])? > 0 {
        change::executor(tx, ctx, id)?;
    }
    row::get(tx, id)
}

const REMOVE: &str = "DELETE FROM executors WHERE executor_id = $1";

fn remove(tx: &mut dyn Tx, ctx: &Resources, id: &ExecutorId) -> Result<Vec<Run>, StoreError> {
    lock(tx, id)?.check_remove().map_err(refused(id))?;
    let lost = run::lose(tx, ctx, id)?;
    tx.execute(REMOVE, &[id.as_str().into()])?;
    note(tx, ctx, id, ExecutorEvent::REMOVED, &RawJson::empty_object())?;
    change::executor(tx, ctx, id)?;
    Ok(lost)
}

/// Executors by id. Tags stand in two lists of JSON and labels in another, so rows that are read
/// are looked through here; a fleet is small beside what it does.
fn list(
    tx: &mut dyn Tx,
    filter: &ExecutorFilter,
    page: &PageRequest,
) -> Result<Page<Executor>, StoreError> {
    let mut place = text_cursor(page.cursor.as_ref())?.unwrap_or("").to_owned();
    let some = |_: Option<&Executor>, rows: usize| {
        let mut found = Vec::new();
        while found.len() < rows {
            let mut query = Statement::new(row::SELECT, tx.dialect());
            query.condition("e.executor_id > ", &place);
            query.one_of_ours("e.status", filter.statuses.iter().map(|one| one.as_str()).collect());
            query.push(" ORDER BY e.executor_id LIMIT ").param(rows as u64);
            let read = query_all(tx, &query.sql, &query.params, row::read)?;
            let Some(last) = read.last() else { break };
            place = last.id.to_string();
            found.extend(read.into_iter().filter(|executor| filter.matches(executor)));
        }
        if found.len() > rows {
            found.truncate(rows);
            place = found.last().map_or(place.clone(), |last| last.id.to_string());
        }
        Ok(found)
    };
    let size =
        |executor: &Executor| executor.details.as_str().len() + executor.identity.as_str().len();
    sized_page(page.limit, some, size, |executor| Cursor::Text(executor.id.to_string()))
}

#[async_trait]
impl Executors for SqlStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        executor.check()?;
        self.once(move |tx, ctx| register(tx, ctx, &executor)).await
    }

    async fn enrol_executor(&self, enrolment: Enrolment) -> Result<Executor, StoreError> {
        enrolment.check()?;
        self.once(move |tx, ctx| enrol(tx, ctx, &enrolment)).await
    }

    async fn change_executor(
        &self,
        id: ExecutorId,
        change: ExecutorChange,
        by: Option<String>,
    ) -> Result<Executor, StoreError> {
        change.check(by.as_deref())?;
        self.once(move |tx, ctx| change_given(tx, ctx, &id, &change, by.as_deref())).await
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.read(move |tx, _| row::get(tx, &id)).await
    }

    async fn list_executors(
        &self,
        filter: ExecutorFilter,
        page: PageRequest,
    ) -> Result<Page<Executor>, StoreError> {
        self.read(move |tx, _| list(tx, &filter, &page)).await
    }

    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        let asked = id.clone();
        let known = self.read(move |tx, _| row::get(tx, &asked)).await?;
        if known.seen_at.plus_ms(limits::SEEN_EVERY_MS) > self.inner.resources.now() {
            return Ok(known);
        }
        self.write(move |tx, ctx| {
            tx.execute(SEEN, &[ctx.now().into(), id.as_str().into()])?;
            row::get(tx, &id)
        })
        .await
    }

    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.write(move |tx, ctx| ask_to_go(tx, ctx, &id)).await
    }

    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.write(move |tx, ctx| remove(tx, ctx, &id)).await
    }

    async fn executor_history(
        &self,
        id: Option<ExecutorId>,
        page: PageRequest,
    ) -> Result<Page<ExecutorEvent>, StoreError> {
        self.read(move |tx, _| history::list(tx, id.as_ref(), &page)).await
    }

    async fn note_executor(
        &self,
        id: ExecutorId,
        kind: String,
        data: RawJson,
    ) -> Result<ExecutorEvent, StoreError> {
        ExecutorEvent::check(&kind, &data)?;
        self.once(move |tx, ctx| note(tx, ctx, &id, &kind, &data)).await
    }
}
