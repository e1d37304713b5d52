//! Messages as people read them.

use ah_model::{Message, Timestamp};

use crate::output::{fields, line, printable, printable_lines};
use crate::when::ago;

const BODY_CHARS: usize = 60;

pub(super) const HEADER: &[&str] = &["ID", "STATUS", "FROM", "TO", "SENT", "TRIES", "TEXT"];

pub(super) fn row(message: &Message, now: Timestamp) -> Vec<String> {
    vec![
        message.id.to_string(),
        message.status.to_string(),
        message.from.to_string(),
        message.to.to_string(),
        ago(message.sent_at, now),
        message.deliveries.to_string(),
        line(&message.body, BODY_CHARS),
    ]
}

pub(super) fn message(message: &Message) -> String {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let lease = message.lease.as_ref();
    let head = fields(&[
        ("id", message.id.to_string()),
        ("kind", message.kind.to_string()),
        ("from", message.from.to_string()),
        ("to", message.to.to_string()),
        ("status", message.status.to_string()),
        ("in reply to", message.in_reply_to.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("about", printable(message.about.as_deref().unwrap_or(""))),
        ("sent", message.sent_at.to_string()),
        ("delivery", delivery(message)),
        ("held by", printable(lease.map_or("", |lease| &lease.holder))),
        ("held until", time(lease.map(|lease| lease.expires_at))),
        ("not before", time(message.not_before)),
        ("acknowledged", time(message.acked_at)),
        ("given up", time(message.dead_at)),
        ("last failure", printable(message.note.as_deref().unwrap_or(""))),
    ]);
    format!("{head}\n{}", printable_lines(&message.body))
}

/// The number of the newest hand-out; that it is not the first is worth a word.
fn delivery(message: &Message) -> String {
    match message.deliveries {
        0 => String::new(),
        1 => "1".to_owned(),
        again => format!("{again} (redelivered)"),
    }
}
