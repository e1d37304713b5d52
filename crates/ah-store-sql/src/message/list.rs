//! Lists of messages, newest first.

use ah_model::{Cursor, Message, MessageFilter, MessageStatus, Page, PageRequest};
use ah_store::StoreError;

use super::block::BLOCK_BITS;
use super::{OPEN, row};
use crate::page::{number_cursor, sized_page};
use crate::party;
use crate::statement::Statement;
use crate::tx::{Dialect, Tx, query_all};

pub(super) fn list(
    tx: &mut dyn Tx,
    filter: &MessageFilter,
    page: &PageRequest,
) -> Result<Page<Message>, StoreError> {
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let some = |last: Option<&Message>, rows| some(tx, filter, last.map_or(first, number), rows);
    sized_page(page.limit, some, size, |message| Cursor::Number(number(message)))
}

fn number(message: &Message) -> i64 {
    i64::try_from(message.number).unwrap_or(i64::MAX)
}

fn size(message: &Message) -> usize {
    message.body.len() + message.note.as_ref().map_or(0, String::len)
}

fn some(
    tx: &mut dyn Tx,
    filter: &MessageFilter,
    before: i64,
    rows: usize,
) -> Result<Vec<Message>, StoreError> {
    let from = filter.from.as_ref().map(party::any_case);
    let to = filter.to.as_ref().map(party::any_case);
    let either = filter.party.as_ref().map(party::any_case);
    let whose = from.as_ref().or(to.as_ref()).or(either.as_ref());
    let party = whose.filter(|_| by_block(filter, tx.dialect()));
    let start = if party.is_some() { row::SELECT_BY_BLOCK } else { row::SELECT };
    let mut query = Statement::new(start, tx.dialect());
    query.push(" WHERE number < ").param(before);
    if let Some(party) = party {
        query.condition("party = ", party);
        query.condition("block <= ", before >> BLOCK_BITS);
    }
    statuses(&mut query, &filter.statuses);
    if let Some(from) = &from {
        query.condition("lower(sender) = ", from);
    }
    if let Some(to) = &to {
        query.condition("lower(recipient) = ", to);
    }
    if let Some(party) = &either {
        query.either(["lower(sender)", "lower(recipient)"], party);
    }
    if let Some(answered) = &filter.in_reply_to {
        query.condition("in_reply_to = ", answered.as_str());
    }
    let block = if party.is_some() { "block DESC, " } else { "" };
    query.push(&format!(" ORDER BY {block}number DESC LIMIT ")).param(rows as u64);
    query_all(tx, &query.sql, &query.params, row::read)
}

/// Whether to go by the blocks of a party: not where an index leads to fewer rows.
fn by_block(filter: &MessageFilter, dialect: Dialect) -> bool {
    let to_handle = filter.to.is_some() && is_open(&filter.statuses);
    dialect == Dialect::Sqlite && filter.in_reply_to.is_none() && !to_handle
}

/// Whether only what is still to be handled is wanted.
fn is_open(wanted: &[MessageStatus]) -> bool {
    let over = |status: &MessageStatus| match status {
        MessageStatus::Queued | MessageStatus::Leased => false,
        MessageStatus::Acked | MessageStatus::Dead => true,
    };
    !wanted.is_empty() && !wanted.iter().any(over)
}

fn statuses(query: &mut Statement<'_>, wanted: &[MessageStatus]) {
    let words = MessageStatus::ALL.iter().filter(|status| wanted.contains(status));
    query.one_of_ours("status", words.map(|status| status.as_str()).collect());
    // Found by its index, however much there was before.
    if is_open(wanted) {
        query.push(" AND ").push(OPEN);
    }
}
