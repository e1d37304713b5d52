//! Receipts: what was removed, kept with the removal.

use ah_model::{
    Cursor, Page, PageRequest, RawJson, Receipt, ReceiptId, ReceiptKind, RemovalStep, Tally,
};
use ah_store::{Kind, StoreError};

use super::budget::Budget;
use crate::page::number_cursor;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Param, Row, Tx, query_all, query_first};

/// Every column [`read`] takes.
const SELECT: &str =
    "SELECT number, id, kind, subject, started_at, finished_at, removed FROM receipts";

/// A receipt and its place. Amounts that cannot be read are none; `check` names such rows.
fn read(row: &dyn Row) -> Result<(i64, Receipt), StoreError> {
    let row = Reader::new(row);
    let number = row.int()?;
    let receipt = Receipt {
        id: row.parse()?,
        kind: row.text()?.parse().unwrap_or(ReceiptKind::Retention),
        subject: row.opt_text()?,
        started_at: row.time()?,
        finished_at: row.opt_time()?,
        removed: row.json()?.read().unwrap_or_default(),
    };
    Ok((number, receipt))
}

fn lock(
    tx: &mut dyn Tx,
    condition: &str,
    params: &[Param<'_>],
) -> Result<Option<Receipt>, StoreError> {
    let sql = format!("{SELECT} WHERE {condition}{}", tx.dialect().for_update());
    Ok(query_first(tx, &sql, params, read)?.map(|(_, receipt)| receipt))
}

const OPEN: &str = "finished_at IS NULL AND kind = $1 AND coalesce(subject, '') = $2";
const INSERT: &str = "INSERT INTO receipts (id, kind, subject, started_at, removed) \
    VALUES ($1, $2, $3, $4, '{}')";

/// The receipt that is under way, or a new one, which nobody else adds to until the transaction
/// ends. Who begins another of the same at once loses the race and finds this one.
pub(crate) fn open(
    tx: &mut dyn Tx,
    ctx: &Resources,
    kind: ReceiptKind,
    subject: Option<&str>,
) -> Result<Receipt, StoreError> {
    let params = [kind.as_str().into(), subject.unwrap_or("").into()];
    if let Some(receipt) = lock(tx, OPEN, &params)? {
        return Ok(receipt);
    }
    let started_at = ctx.now();
    let id = ctx.ids.receipt(started_at)?;
    let params = [id.as_str().into(), kind.as_str().into(), subject.into(), started_at.into()];
    tx.execute(INSERT, &params)?;
    let (subject, removed) = (subject.map(str::to_owned), Tally::default());
    Ok(Receipt { id, kind, subject, started_at, finished_at: None, removed })
}

const SAVE: &str = "UPDATE receipts SET finished_at = $1, removed = $2 WHERE id = $3";

fn save(tx: &mut dyn Tx, receipt: &Receipt) -> Result<(), StoreError> {
    let removed = RawJson::of(&receipt.removed)?;
    let id = receipt.id.as_str().into();
    tx.execute(SAVE, &[receipt.finished_at.into(), removed.as_str().into(), id]).map(drop)
}

/// Adds what a step removed; the last one closes the receipt.
pub(super) fn close_step(
    tx: &mut dyn Tx,
    ctx: &Resources,
    receipt: Receipt,
    budget: Budget,
) -> Result<RemovalStep, StoreError> {
    let (removed, more) = budget.spent();
    let receipt = add_step(tx, ctx, receipt, &removed, more)?;
    Ok(RemovalStep { receipt, more })
}

/// Adds what a step did; the one behind which there is no more closes the receipt.
pub(crate) fn add_step(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut receipt: Receipt,
    done: &Tally,
    more: bool,
) -> Result<Receipt, StoreError> {
    receipt.removed.add_all(done);
    receipt.finished_at = (!more).then(|| ctx.now());
    save(tx, &receipt)?;
    Ok(receipt)
}

/// Adds what the host removed.
pub(super) fn add(tx: &mut dyn Tx, id: &ReceiptId, removed: &Tally) -> Result<Receipt, StoreError> {
    let mut receipt = lock(tx, "id = $1", &[id.as_str().into()])?
        .ok_or_else(|| StoreError::not_found(Kind::Receipt, id))?;
    receipt.removed.add_all(removed);
    save(tx, &receipt)?;
    Ok(receipt)
}

pub(super) fn list(tx: &mut dyn Tx, page: &PageRequest) -> Result<Page<Receipt>, StoreError> {
    let before = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let sql = format!("{SELECT} WHERE number < $1 ORDER BY number DESC LIMIT $2");
    let more = page.limit.get() as u64 + 1;
    let found = query_all(tx, &sql, &[before.into(), more.into()], read)?;
    let page = Page::from_overfull(found, page.limit, |(number, _)| Cursor::Number(*number));
    let items = page.items.into_iter().map(|(_, receipt)| receipt).collect();
    Ok(Page { items, next_cursor: page.next_cursor })
}
