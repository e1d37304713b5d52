//! What ends a hand-out or a message otherwise: its holder gives it back, time, or the operator.

use ah_model::{
    ChangeKind, HiveSwept, Message, MessageId, MessageStatus, Party, Release, Timestamp,
};
use ah_store::StoreError;

use super::receive::refused;
use super::{OPEN, row, send};
use crate::change;
use crate::party::{self, Standing};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Tx, query_all};

/// Writes what became of an attempt, and tells the writer of mail that was given up.
fn end_attempt(tx: &mut dyn Tx, ctx: &Resources, message: &Message) -> Result<(), StoreError> {
    row::save(tx, message)?;
    let kind = match message.status {
        MessageStatus::Queued => ChangeKind::MessageQueued,
        MessageStatus::Leased | MessageStatus::Acked | MessageStatus::Dead => {
            ChangeKind::MessageUpdated
        }
    };
    change::message(tx, ctx, kind, message)?;
    send::post(tx, ctx, message.bounce())
}

/// Its holder could not handle it.
pub(super) fn release(
    tx: &mut dyn Tx,
    ctx: &Resources,
    release: &Release,
) -> Result<Message, StoreError> {
    let writer = row::get(tx, &release.hold.id)?.from;
    party::keep(tx, &[&writer])?;
    let mut message = row::lock(tx, &release.hold.id)?;
    let released = message.release(release, ctx.now());
    released.map_err(|reason| refused(&message, reason))?;
    end_attempt(tx, ctx, &message)?;
    Ok(message)
}

/// Queues a dead message again.
pub(super) fn requeue(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &MessageId,
) -> Result<Message, StoreError> {
    let mut message = row::lock(tx, id)?;
    message.requeue().map_err(|reason| refused(&message, reason))?;
    row::save(tx, &message)?;
    change::message(tx, ctx, ChangeKind::MessageQueued, &message)?;
    Ok(message)
}

/// Acknowledges notices that were learnt of in another way; how many.
pub(super) fn dismiss(
    tx: &mut dyn Tx,
    ctx: &Resources,
    to: &Party,
    about: &str,
) -> Result<u64, StoreError> {
    let to = party::resolve_one(tx, to, Standing::Known)?;
    let to = party::any_case(&to);
    let sql = format!(
        "SELECT number FROM messages WHERE lower(recipient) = $1 AND {OPEN} \
         AND status = 'queued' AND kind <> 'mail' AND about = $2 ORDER BY number"
    );
    let numbers = query_all(tx, &sql, &[(&to).into(), about.into()], |row| row.uint(0))?;
    let mut dismissed = 0;
    for number in numbers {
        // Who is just receiving it learns of it in that way.
        let Some(mut notice) = row::take(tx, number)? else { continue };
        if notice.status != MessageStatus::Queued {
            continue;
        }
        (notice.status, notice.acked_at) = (MessageStatus::Acked, Some(ctx.now()));
        notice.not_before = None;
        row::save(tx, &notice)?;
        change::message(tx, ctx, ChangeKind::MessageUpdated, &notice)?;
        dismissed += 1;
    }
    Ok(dismissed)
}

/// Whether a lease is over at `$1`.
pub(crate) const DUE: &str = "lease_expires_at IS NOT NULL AND lease_expires_at <= $1";

/// A lease that is over: the message's number, and its writer, who may have to be told.
pub(crate) type Lapsed = (u64, Party);

/// The leases that are over at `now`, oldest first, at most so many.
pub(crate) fn lapsed(
    tx: &mut dyn Tx,
    now: Timestamp,
    most: usize,
) -> Result<Vec<Lapsed>, StoreError> {
    let sql = format!(
        "SELECT number, sender FROM messages WHERE {DUE} \
         ORDER BY lease_expires_at, number LIMIT $2"
    );
    query_all(tx, &sql, &[now.into(), (most as u64).into()], |row| {
        let row = Reader::new(row);
        Ok((row.uint()?, row::read_party(&row)?))
    })
}

/// Ends those of these leases that are over at `now`. Their writers are kept.
pub(crate) fn lapse(
    tx: &mut dyn Tx,
    ctx: &Resources,
    now: Timestamp,
    due: &[Lapsed],
) -> Result<HiveSwept, StoreError> {
    let mut swept = HiveSwept::default();
    for (number, _) in due {
        let mut message = match row::take(tx, *number) {
            // A row that cannot be read costs itself: `check` names it.
            Ok(None) | Err(StoreError::Corrupt { .. }) => continue,
            Ok(Some(message)) => message,
            Err(other) => return Err(other),
        };
        // Looked at again now that it is locked: its holder may just have renewed.
        if !message.is_due(now) {
            continue;
        }
        message.lapse(now);
        match message.status {
            MessageStatus::Dead => swept.dead += 1,
            MessageStatus::Queued | MessageStatus::Leased | MessageStatus::Acked => {
                swept.requeued += 1;
            }
        }
        end_attempt(tx, ctx, &message)?;
    }
    Ok(swept)
}
