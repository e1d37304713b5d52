//! Receiving: hand-outs under a lease, and what their holders say.

use ah_model::{Hold, Message, MessageId, Party, Receive, Received, Timestamp};
use ah_store::{Kind, StoreError};

use super::{OPEN, row, send};
use crate::change;
use crate::party::{self, Standing};
use crate::resources::Resources;
use crate::tx::{Tx, query_all, query_first};

/// What the party `to` can receive at `now`, both parameters.
fn receivable(to: &str, now: &str) -> String {
    format!(
        "lower(recipient) = {to} AND {OPEN} AND status = 'queued' \
         AND (not_before IS NULL OR not_before <= {now})"
    )
}

/// Whether there is anything that `to`, as it is spelt, can receive.
pub(crate) fn is_receivable(
    tx: &mut dyn Tx,
    to: &Party,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let sql = format!("SELECT number FROM messages WHERE {} LIMIT 1", receivable("$1", "$2"));
    let to = party::any_case(to);
    let found = query_first(tx, &sql, &[(&to).into(), now.into()], |row| row.int(0))?;
    Ok(found.is_some())
}

/// Whether `wanted` may get anything.
pub(super) fn look(tx: &mut dyn Tx, ctx: &Resources, wanted: &Receive) -> Result<bool, StoreError> {
    let to = party::resolve_one(tx, &wanted.to, Standing::Living)?;
    match &wanted.id {
        Some(id) => Ok(named(tx, id, &to)?.is_receivable(ctx.now())),
        None => is_receivable(tx, &to, ctx.now()),
    }
}

/// Sends and acknowledges what is given, then hands out. What is sent is nobody else's yet, so its
/// rows are locked before older ones without anybody waiting for them.
pub(super) fn receive(
    tx: &mut dyn Tx,
    ctx: &Resources,
    wanted: &Receive,
) -> Result<Received, StoreError> {
    let (to, sent) = match wanted.send.as_slice() {
        [] => (party::resolve_one(tx, &wanted.to, Standing::Living)?, Vec::new()),
        all => send::send(tx, ctx, &wanted.to, all)?,
    };
    ack_own(tx, ctx, &wanted.ack, &to)?;
    let mut messages = match &wanted.id {
        Some(id) => only(tx, ctx, id, &to)?,
        None => oldest(tx, ctx, &to, wanted.max)?,
    };
    for message in &mut messages {
        message.receive(&wanted.holder, wanted.lease_ms, ctx.now());
        row::save_hand_out(tx, message)?;
    }
    Ok(Received { messages, sent })
}

/// The oldest that can be received, locked; what another receiver is just taking is passed by.
fn oldest(
    tx: &mut dyn Tx,
    ctx: &Resources,
    to: &Party,
    max: u32,
) -> Result<Vec<Message>, StoreError> {
    let (select, receivable) = (row::SELECT, receivable("$1", "$2"));
    let unless_taken = tx.dialect().unless_taken();
    let sql = format!("{select} WHERE {receivable} ORDER BY number LIMIT $3{unless_taken}");
    let to = party::any_case(to);
    let params = [(&to).into(), ctx.now().into(), u64::from(max).into()];
    query_all(tx, &sql, &params, row::read)
}

/// One message, locked, if it can be received now.
fn only(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &MessageId,
    to: &Party,
) -> Result<Vec<Message>, StoreError> {
    let number = named(tx, id, to)?.number;
    let taken = row::take(tx, number)?;
    Ok(taken.filter(|message| message.is_receivable(ctx.now())).into_iter().collect())
}

/// The message of that id, which must be to `to`.
fn named(tx: &mut dyn Tx, id: &MessageId, to: &Party) -> Result<Message, StoreError> {
    let message = row::get(tx, id)?;
    refuse_other(&message, to)?;
    Ok(message)
}

fn refuse_other(message: &Message, to: &Party) -> Result<(), StoreError> {
    if message.to == *to {
        return Ok(());
    }
    let reason = format!("is to {}, not to {to}", message.to);
    Err(StoreError::conflict(Kind::Message, &message.id, reason))
}

/// What a rule said about a message.
pub(super) fn refused(message: &Message, reason: String) -> StoreError {
    StoreError::conflict(Kind::Message, &message.id, reason)
}

/// They were handled by `to`, to whom they are.
fn ack_own(tx: &mut dyn Tx, ctx: &Resources, holds: &[Hold], to: &Party) -> Result<(), StoreError> {
    row::lock_in_order(tx, holds.iter().map(|hold| &hold.id))?;
    for hold in holds {
        if row::ack_held(tx, hold, to, ctx.now())? {
            change::acked(tx, ctx, to, &hold.id)?;
            continue;
        }
        let message = row::lock(tx, &hold.id)?;
        refuse_other(&message, to)?;
        ack_as_ruled(tx, ctx, hold, message)?;
    }
    Ok(())
}

/// They were handled.
pub(super) fn ack(
    tx: &mut dyn Tx,
    ctx: &Resources,
    holds: &[Hold],
) -> Result<Vec<Message>, StoreError> {
    row::lock_in_order(tx, holds.iter().map(|hold| &hold.id))?;
    let one = |hold: &Hold| {
        let message = row::lock(tx, &hold.id)?;
        ack_as_ruled(tx, ctx, hold, message)
    };
    holds.iter().map(one).collect()
}

fn ack_as_ruled(
    tx: &mut dyn Tx,
    ctx: &Resources,
    hold: &Hold,
    mut message: Message,
) -> Result<Message, StoreError> {
    let acked = message.ack(hold, ctx.now());
    if acked.map_err(|reason| refused(&message, reason))? {
        row::save(tx, &message)?;
        change::acked(tx, ctx, &message.to, &message.id)?;
    }
    Ok(message)
}

/// Keeps a lease.
pub(super) fn renew(
    tx: &mut dyn Tx,
    ctx: &Resources,
    hold: &Hold,
    lease_ms: u64,
) -> Result<Message, StoreError> {
    let mut message = row::lock(tx, &hold.id)?;
    let renewed = message.renew(hold, lease_ms, ctx.now());
    renewed.map_err(|reason| refused(&message, reason))?;
    row::save(tx, &message)?;
    Ok(message)
}
