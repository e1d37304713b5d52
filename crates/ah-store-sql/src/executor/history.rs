//! What happened to executors, and to peers that never enrolled.

use ah_model::{Cursor, ExecutorEvent, ExecutorId, Page, PageRequest, RawJson};
use ah_store::StoreError;

use crate::page::{number_cursor, sized_page};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::statement::Statement;
use crate::tx::{Row, Tx, query_all, query_first};

const SELECT: &str = "SELECT id, executor_id, event_type, event_data, event_timestamp \
    FROM executor_history";

fn read(row: &dyn Row) -> Result<ExecutorEvent, StoreError> {
    let row = Reader::new(row);
    Ok(ExecutorEvent {
        number: row.uint()?,
        executor_id: row.parse()?,
        kind: row.text()?,
        data: row.json()?,
        at: row.time()?,
    })
}

const INSERT: &str = "INSERT INTO executor_history (executor_id, event_type, event_data, \
    event_timestamp) VALUES ($1, $2, $3, $4) RETURNING id";

/// Records something.
pub(crate) fn note(
    tx: &mut dyn Tx,
    ctx: &Resources,
    executor_id: &ExecutorId,
    kind: &str,
    data: &RawJson,
) -> Result<ExecutorEvent, StoreError> {
    let at = ctx.now();
    let params = [executor_id.as_str().into(), kind.into(), data.as_str().into(), at.into()];
    let number = query_first(tx, INSERT, &params, |row| row.uint(0))?
        .ok_or_else(|| StoreError::backend("record what happened", "it gave no number"))?;
    let (executor_id, kind) = (executor_id.clone(), kind.to_owned());
    Ok(ExecutorEvent { number, executor_id, kind, data: data.clone(), at })
}

/// What happened to one executor, or to all, newest first.
pub(super) fn list(
    tx: &mut dyn Tx,
    id: Option<&ExecutorId>,
    page: &PageRequest,
) -> Result<Page<ExecutorEvent>, StoreError> {
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let cursor = |event: &ExecutorEvent| i64::try_from(event.number).unwrap_or(i64::MAX);
    let some = |last: Option<&ExecutorEvent>, rows: usize| {
        let mut query = Statement::new(SELECT, tx.dialect());
        query.push(" WHERE id < ").param(last.map_or(first, cursor));
        if let Some(id) = id {
            query.condition("executor_id = ", id.as_str());
        }
        query.push(" ORDER BY id DESC LIMIT ").param(rows as u64);
        query_all(tx, &query.sql, &query.params, read)
    };
    let size = |event: &ExecutorEvent| event.data.as_str().len();
    sized_page(page.limit, some, size, |event| Cursor::Number(cursor(event)))
}
