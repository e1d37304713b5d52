//! Approvals as people read them.

use ah_model::{Approval, Timestamp};

use crate::output::{fields, line, printable, printable_lines};
use crate::when::ago;

const REASON_CHARS: usize = 50;
const COMMIT_CHARS: usize = 12;

pub(super) const HEADER: &[&str] = &["ID", "STATUS", "AGENT", "KIND", "COMMIT", "ASKED", "WHY"];

pub(super) fn row(approval: &Approval, now: Timestamp) -> Vec<String> {
    let why = approval.note.as_deref().or(approval.reason.as_deref()).unwrap_or("");
    let commit = approval.commit.as_deref().unwrap_or("");
    vec![
        approval.id.to_string(),
        approval.status.to_string(),
        approval.agent.clone(),
        approval.kind.clone(),
        commit.chars().take(COMMIT_CHARS).collect(),
        ago(approval.requested_at, now),
        line(why, REASON_CHARS),
    ]
}

pub(super) fn approval(approval: &Approval) -> String {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
    let by = approval.resolved_by.as_ref().map(ToString::to_string).unwrap_or_default();
    let details = match approval.details.as_str() {
        "{}" => String::new(),
        json => printable(json),
    };
    let head = fields(&[
        ("id", approval.id.to_string()),
        ("status", approval.status.to_string()),
        ("agent", approval.agent.clone()),
        ("kind", approval.kind.clone()),
        ("asked for", text(&approval.commit_ref)),
        ("commit", text(&approval.commit)),
        ("details", details),
        ("asked", approval.requested_at.to_string()),
        ("decided", time(approval.resolved_at)),
        ("by", by),
        ("who", text(&approval.resolver)),
        ("note", text(&approval.note)),
        ("carried out", time(approval.carried_out_at)),
        ("problem", text(&approval.problem)),
    ]);
    match approval.reason.as_deref() {
        Some(reason) => format!("{head}\n{}", printable_lines(reason)),
        None => head,
    }
}
