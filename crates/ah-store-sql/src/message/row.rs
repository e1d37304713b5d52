//! The row of a message.

use ah_model::{
    Hold, Message, MessageId, MessageKind, MessageLease, MessageStatus, Party, Timestamp,
};
use ah_store::{Kind, StoreError};

use super::block;
use crate::lull;
use crate::reader::Reader;
use crate::tx::{Dialect, Param, Row, Tx, query_first};

/// A message of a block, in the words of SQLite's migration that made blocks.
macro_rules! in_block {
    () => {
        "number BETWEEN block << 10 AND (block << 10) + 1023"
    };
}

/// What is to the party `$1`.
pub(crate) const fn to_party(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Sqlite => concat!(
            "number IN (SELECT number FROM message_blocks CROSS JOIN messages ON ",
            in_block!(),
            " WHERE party = $1 AND lower(recipient) = $1)"
        ),
        Dialect::Postgres => "lower(recipient) = $1",
    }
}

/// Every column [`read`] takes.
macro_rules! columns {
    () => {
        "number, id, kind, sender, recipient, body, in_reply_to, about, status, deliveries, \
         attempts, not_before, holder, lease_expires_at, sent_at, delivered_at, acked_at, dead_at, \
         note"
    };
}

pub(super) const SELECT: &str = concat!("SELECT ", columns!(), " FROM messages");

/// As [`SELECT`], block by block of one party. SQLite alone has blocks.
pub(super) const SELECT_BY_BLOCK: &str =
    concat!("SELECT ", columns!(), " FROM message_blocks CROSS JOIN messages ON ", in_block!());

/// Reads leniently what another program may have left: of a status that nobody knows a message is
/// dead, which the operator can mend, rather than the end of a whole list. `check` names such rows.
pub(super) fn read(row: &dyn Row) -> Result<Message, StoreError> {
    let row = Reader::new(row);
    Ok(Message {
        number: row.uint()?,
        id: row.parse()?,
        kind: row.str()?.parse().unwrap_or(MessageKind::Mail),
        from: read_party(&row)?,
        to: read_party(&row)?,
        body: row.text()?,
        in_reply_to: row.opt_parse()?,
        about: row.opt_text()?,
        status: row.str()?.parse().unwrap_or(MessageStatus::Dead),
        deliveries: row.uint()?,
        attempts: row.uint()?,
        not_before: row.opt_time()?,
        lease: read_lease(&row)?,
        sent_at: row.time().unwrap_or(Timestamp::EPOCH),
        delivered_at: row.opt_time()?,
        acked_at: row.opt_time()?,
        dead_at: row.opt_time()?,
        note: row.opt_text()?,
    })
}

/// A party as it stands in a row; a name that no agent could have is kept as it is.
pub(crate) fn read_party(row: &Reader<'_>) -> Result<Party, StoreError> {
    let name = row.str()?;
    Ok(name.parse().unwrap_or_else(|_| Party::Agent(name.into_owned())))
}

fn read_lease(row: &Reader<'_>) -> Result<Option<MessageLease>, StoreError> {
    let (holder, expires_at) = (row.opt_text()?, row.opt_time()?);
    let holder = holder.unwrap_or_default();
    Ok(expires_at.map(|expires_at| MessageLease { holder, expires_at }))
}

/// The message of that id.
pub(super) fn get(tx: &mut dyn Tx, id: &MessageId) -> Result<Message, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Message, id))
}

/// The message of that id, which nobody else changes until the transaction ends.
pub(super) fn lock(tx: &mut dyn Tx, id: &MessageId) -> Result<Message, StoreError> {
    let sql = format!("{SELECT} WHERE id = $1{}", tx.dialect().for_update());
    query_first(tx, &sql, &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Message, id))
}

/// The message of that number, locked, unless somebody else is about to change it.
pub(super) fn take(tx: &mut dyn Tx, number: u64) -> Result<Option<Message>, StoreError> {
    let sql = format!("{SELECT} WHERE number = $1{}", tx.dialect().unless_taken());
    query_first(tx, &sql, &[number.into()], read)
}

const NUMBER_OF: &str = "SELECT number FROM messages WHERE id = $1";

/// The number of a message, if there is one of that id.
pub(super) fn number(tx: &mut dyn Tx, id: &MessageId) -> Result<Option<u64>, StoreError> {
    query_first(tx, NUMBER_OF, &[id.as_str().into()], |row| row.uint(0))
}

const LOCK_NUMBER: &str = "SELECT number FROM messages WHERE number = $1";

/// Locks several messages by ascending number, so that two who want the same ones wait in line.
pub(super) fn lock_in_order<'a>(
    tx: &mut dyn Tx,
    ids: impl ExactSizeIterator<Item = &'a MessageId>,
) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Sqlite || ids.len() < 2 {
        return Ok(());
    }
    let mut numbers = Vec::with_capacity(ids.len());
    for id in ids {
        numbers.extend(number(tx, id)?);
    }
    numbers.sort_unstable();
    let sql = format!("{LOCK_NUMBER}{}", tx.dialect().for_update());
    numbers
        .into_iter()
        .try_for_each(|number| query_first(tx, &sql, &[number.into()], |row| row.int(0)).map(drop))
}

/// A new row: what its writer says, and `$rest` of what became of it since.
macro_rules! insert {
    ($rest:literal, $marks:literal) => {
        concat!(
            "INSERT INTO messages (id, kind, sender, recipient, body, in_reply_to, about, status, \
             sent_at",
            $rest,
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9",
            $marks,
            ")"
        )
    };
}

const QUEUE: &str = insert!("", "");
const QUEUE_KNOWN: &str = insert!(", in_blocks", ", 1");
const INSERT: &str = insert!(
    ", deliveries, attempts, not_before, delivered_at, acked_at, dead_at, note",
    ", $10, $11, $12, $13, $14, $15, $16"
);

/// Writes the row of a message that was only just written, and gives the message its number.
pub(super) fn queue(tx: &mut dyn Tx, message: &mut Message) -> Result<(), StoreError> {
    let known = block::is_known(tx, message)?;
    let sql = if known { QUEUE_KNOWN } else { QUEUE };
    message.number = tx.insert_numbered(sql, &as_written(message))?;
    block::add(tx, message, known)
}

/// As [`queue`] for a message with a life behind it, which nobody holds.
pub(super) fn insert(tx: &mut dyn Tx, message: &mut Message) -> Result<(), StoreError> {
    let since = [
        message.deliveries.into(),
        message.attempts.into(),
        message.not_before.into(),
        message.delivered_at.into(),
        message.acked_at.into(),
        message.dead_at.into(),
        message.note.as_ref().into(),
    ];
    let params = [as_written(message).as_slice(), &since].concat();
    message.number = tx.insert_numbered(INSERT, &params)?;
    Ok(())
}

fn as_written(message: &Message) -> [Param<'_>; 9] {
    [
        message.id.as_str().into(),
        message.kind.as_str().into(),
        message.from.as_str().into(),
        message.to.as_str().into(),
        (&message.body).into(),
        message.in_reply_to.as_ref().map(MessageId::as_str).into(),
        message.about.as_ref().into(),
        message.status.as_str().into(),
        message.sent_at.into(),
    ]
}

const HAND_OUT: &str = "UPDATE messages SET status = $1, deliveries = $2, not_before = NULL, \
    holder = $3, lease_expires_at = $4, delivered_at = $5 WHERE number = $6";

/// Writes what a hand-out changes: only that, so that the indexes of the rest stay untouched.
pub(super) fn save_hand_out(tx: &mut dyn Tx, message: &Message) -> Result<(), StoreError> {
    let lease = message.lease.as_ref();
    let params = [
        message.status.as_str().into(),
        message.deliveries.into(),
        lease.map(|lease| &lease.holder).into(),
        lease.map(|lease| lease.expires_at).into(),
        message.delivered_at.into(),
        message.number.into(),
    ];
    tx.execute(HAND_OUT, &params)?;
    lull::ends_by(tx, lease.map(|lease| lease.expires_at));
    Ok(())
}

const ACK: &str = "UPDATE messages SET status = 'acked', acked_at = $1, holder = NULL, \
    lease_expires_at = NULL, not_before = NULL \
    WHERE id = $2 AND deliveries = $3 AND status = 'leased' AND recipient = $4";

/// What [`Message::ack`] does to a message whose newest hand-out this is and whose lease goes on, in
/// one statement; whether it was such a one. About any other the rule decides.
pub(super) fn ack_held(
    tx: &mut dyn Tx,
    hold: &Hold,
    to: &Party,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let Some(delivery) = hold.delivery else { return Ok(false) };
    let params = [now.into(), hold.id.as_str().into(), delivery.into(), to.as_str().into()];
    Ok(tx.execute(ACK, &params)? > 0)
}

const SAVE: &str = "UPDATE messages SET status = $1, deliveries = $2, attempts = $3, \
    not_before = $4, holder = $5, lease_expires_at = $6, delivered_at = $7, acked_at = $8, \
    dead_at = $9, note = $10 WHERE number = $11";

/// Writes what a message's life changes.
pub(super) fn save(tx: &mut dyn Tx, message: &Message) -> Result<(), StoreError> {
    let lease = message.lease.as_ref();
    let params = [
        message.status.as_str().into(),
        message.deliveries.into(),
        message.attempts.into(),
        message.not_before.into(),
        lease.map(|lease| &lease.holder).into(),
        lease.map(|lease| lease.expires_at).into(),
        message.delivered_at.into(),
        message.acked_at.into(),
        message.dead_at.into(),
        message.note.as_ref().into(),
        message.number.into(),
    ];
    tx.execute(SAVE, &params)?;
    lull::ends_by(tx, lease.map(|lease| lease.expires_at));
    Ok(())
}
