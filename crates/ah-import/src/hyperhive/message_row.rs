//! A row of `messages` as a message.

use ah_model::{Message, MessageId, MessageStatus, NewMessage, Timestamp};

use super::people::People;
use super::time::read_time;
use crate::foreign_db::Columns;

pub(super) const TABLE: &str = "messages";
pub(super) const NEEDED: [&str; 3] = ["sender", "recipient", "body"];
pub(super) const COLUMNS: [&str; 8] =
    ["id", "sender", "recipient", "body", "sent_at", "delivered_at", "acked_at", "in_reply_to"];
/// What never changes of a row.
pub(super) const LASTING: [&str; 4] = ["sender", "recipient", "body", "sent_at"];

/// Whether the table knows when a message was handled, or only when it was handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handled {
    WhenAcked,
    WhenDelivered,
}

/// The message of a row, or why it cannot be taken. A message without a time gets `before`.
pub(super) fn message(
    columns: &mut Columns<'_>,
    people: &People,
    id: MessageId,
    before: Timestamp,
    handled: Handled,
) -> Result<Message, String> {
    let from = people.party("sender", columns.cell("sender"))?;
    let to = people.party("recipient", columns.cell("recipient"))?;
    let body = columns.cell("body").text().ok_or("body: is no text")?;
    let new = NewMessage::new(from, to.clone(), body);
    new.check().map_err(|invalid| invalid.to_string())?;
    let sent_at = columns.time("sent_at", read_time).unwrap_or(before);
    let mut message = Message::sent(&new, to, id, 0, sent_at);
    let delivered = !columns.cell("delivered_at").is_null();
    let acked = match handled {
        Handled::WhenAcked => !columns.cell("acked_at").is_null(),
        Handled::WhenDelivered => delivered,
    };
    let delivered_at = columns.time("delivered_at", read_time);
    let acked_at = columns.time("acked_at", read_time);
    if delivered || acked {
        message.deliveries = 1;
        message.delivered_at = delivered_at.or(acked_at).or(Some(sent_at));
    }
    if acked {
        message.status = MessageStatus::Acked;
        message.acked_at = acked_at.or(message.delivered_at);
    } else if delivered {
        // Whoever had it there has it no longer: it is handed out again, and marked.
        message.attempts = 1;
    }
    Ok(message)
}
