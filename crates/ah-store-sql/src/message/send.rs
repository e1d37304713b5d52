//! Sending: what somebody writes, what the harbor tells, and what is brought from elsewhere.

use ah_model::{ChangeKind, Message, MessageId, NewMessage, Notice, Party};
use ah_store::{Kind, StoreError};

use super::row;
use crate::change;
use crate::hive::Imported;
use crate::party::{self, Standing};
use crate::resources::Resources;
use crate::tx::Tx;

/// Queues one message for each recipient of all that `from` writes. All who are concerned are kept
/// before the first is written. Answers how `from` is spelt, too.
pub(super) fn send(
    tx: &mut dyn Tx,
    ctx: &Resources,
    from: &Party,
    all: &[NewMessage],
) -> Result<(Party, Vec<Message>), StoreError> {
    let recipients = all.iter().flat_map(|new| &new.to);
    let named: Vec<&Party> = std::iter::once(from).chain(recipients).collect();
    let mut spelt = party::resolve(tx, &named, Standing::Living)?.into_iter();
    let from = spelt.next().ok_or_else(|| StoreError::not_found(Kind::Agent, from))?;
    let mut sent = Vec::with_capacity(spelt.len());
    for new in all {
        if let Some(answered) = &new.in_reply_to {
            refuse_strange(tx, &from, answered)?;
        }
        for to in spelt.by_ref().take(new.to.len()) {
            sent.push(send_to(tx, ctx, new, (&from, to))?);
        }
    }
    Ok((from, sent))
}

/// Only who wrote or got a message answers it.
fn refuse_strange(tx: &mut dyn Tx, from: &Party, answered: &MessageId) -> Result<(), StoreError> {
    if row::get(tx, answered)?.concerns(from) {
        return Ok(());
    }
    let reason = format!("was neither written nor received by {from}");
    Err(StoreError::conflict(Kind::Message, answered, reason))
}

fn send_to(
    tx: &mut dyn Tx,
    ctx: &Resources,
    new: &NewMessage,
    (from, to): (&Party, Party),
) -> Result<Message, StoreError> {
    let now = ctx.now();
    let id = match &new.id {
        Some(id) if row::number(tx, id)?.is_some() => {
            return Err(StoreError::conflict(Kind::Message, id, "exists already"));
        }
        Some(id) => id.clone(),
        None => ctx.ids.message(now)?,
    };
    let message = Message::sent(new, to, id, 0, now);
    queue(tx, ctx, Message { from: from.clone(), ..message })
}

fn queue(tx: &mut dyn Tx, ctx: &Resources, mut message: Message) -> Result<Message, StoreError> {
    row::queue(tx, &mut message)?;
    change::message(tx, ctx, ChangeKind::MessageQueued, &message)?;
    Ok(message)
}

/// Tells somebody, unless there is nothing to tell or the addressee was purged.
pub(crate) fn post(
    tx: &mut dyn Tx,
    ctx: &Resources,
    notice: Option<Notice>,
) -> Result<(), StoreError> {
    let Some(notice) = notice else { return Ok(()) };
    if !party::exists(tx, &notice.to)? {
        return Ok(());
    }
    let now = ctx.now();
    let id = ctx.ids.message(now)?;
    queue(tx, ctx, Message::notice(notice, id, 0, now)).map(drop)
}

/// Brings in a message of another store, whose parties are spelt as here.
pub(crate) fn import(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut message: Message,
) -> Result<Imported, StoreError> {
    let imported = match row::number(tx, &message.id)? {
        None => {
            row::insert(tx, &mut message)?;
            Imported::Created
        }
        Some(number) => {
            if !row::lock(tx, &message.id)?.takes_import(&message) {
                return Ok(Imported::Present);
            }
            message.number = number;
            row::save(tx, &message)?;
            Imported::Updated
        }
    };
    let kind = match message.is_over() {
        true => ChangeKind::MessageUpdated,
        false => ChangeKind::MessageQueued,
    };
    change::message(tx, ctx, kind, &message)?;
    Ok(imported)
}
