//! A row of `approvals` as an approval.

use ah_model::limits::SHORT_TEXT_BYTES_MAX;
use ah_model::{
    APPLY_COMMIT, Approval, ApprovalId, ApprovalStatus, NewApproval, Party, RawJson, Timestamp,
};

use super::people::People;
use super::time::read_time;
use crate::foreign_db::{Columns, TableRow};
use crate::raw_object::json_of;

pub(super) const TABLE: &str = "approvals";
pub(super) const NEEDED: [&str; 2] = ["agent", "kind"];
const COLUMNS: [&str; 8] =
    ["id", "agent", "kind", "commit_ref", "requested_at", "status", "resolved_at", "note"];
/// What never changes of a row.
pub(super) const LASTING: [&str; 4] = ["agent", "kind", "commit_ref", "requested_at"];

/// The approval of a row, or why it cannot be taken. One without a time gets `before`.
pub(super) fn approval(
    columns: &mut Columns<'_>,
    row: &TableRow,
    people: &People,
    id: ApprovalId,
    before: Timestamp,
) -> Result<Approval, String> {
    let agent = match people.party("agent", columns.cell("agent"))? {
        Party::Operator => return Err("agent: is the operator".to_owned()),
        Party::Agent(name) => name,
    };
    let kind = columns.cell("kind").text().ok_or("kind: is no text")?;
    let mut new = NewApproval::new(agent, kind);
    let commit_ref = columns.text("commit_ref", SHORT_TEXT_BYTES_MAX);
    new.commit_ref = commit_ref.clone().filter(|_| kind == APPLY_COMMIT);
    new.details = others(row);
    new.commit = commit(row, &new);
    new.check_but_commit().map_err(|invalid| invalid.to_string())?;
    let requested_at = columns.time("requested_at", read_time).unwrap_or(before);
    let mut approval = Approval::requested(&new, id, 0, requested_at);
    // There any kind may have one; what was asked for is kept.
    approval.commit_ref = commit_ref;
    approval.note = columns.text("note", SHORT_TEXT_BYTES_MAX);
    approval.status = status(columns);
    let resolved_at = columns.time("resolved_at", read_time);
    if approval.status != ApprovalStatus::Pending {
        approval.resolved_at = resolved_at.or(Some(requested_at));
        approval.resolved_by = Some(Party::Operator);
    }
    if approval.status == ApprovalStatus::Approved {
        approval.carried_out_at = approval.resolved_at;
    }
    Ok(approval)
}

fn status(columns: &mut Columns<'_>) -> ApprovalStatus {
    let cell = columns.cell("status");
    let word = cell.text().unwrap_or_default().to_ascii_lowercase();
    match word.as_str() {
        "pending" => ApprovalStatus::Pending,
        "approved" | "building" | "applied" | "deployed" => ApprovalStatus::Approved,
        "denied" | "rejected" => ApprovalStatus::Denied,
        "failed" => ApprovalStatus::Failed,
        "withdrawn" | "cancelled" | "canceled" => ApprovalStatus::Withdrawn,
        _ => {
            // What nobody understands must not become something that can be approved.
            columns.leave("status", "is not a known word: failed here");
            ApprovalStatus::Failed
        }
    }
}

/// The commit that was copied when it was asked for, else the one that was asked for, if it is one.
fn commit(row: &TableRow, new: &NewApproval) -> Option<String> {
    if new.kind != APPLY_COMMIT {
        return None;
    }
    let is_whole = |text: &String| {
        let named = NewApproval { commit: Some(text.clone()), ..new.clone() };
        named.check_but_commit().is_ok()
    };
    let fetched = row.cell("fetched_sha").text().map(str::to_ascii_lowercase);
    let asked = new.commit_ref.as_deref().map(str::to_ascii_lowercase);
    [fetched, asked].into_iter().flatten().find(is_whole)
}

/// The columns that an approval has no place for, as an object.
fn others(row: &TableRow) -> RawJson {
    let others = row.cells.iter().filter(|(name, _)| !COLUMNS.contains(&name.as_str()));
    let members = others.map(|(name, cell)| {
        let name = RawJson::of(name).unwrap_or_else(|_| RawJson::null());
        format!("{}:{}", name.as_str(), cell.json().as_str())
    });
    let members: Vec<String> = members.collect();
    match members.is_empty() {
        true => RawJson::empty_object(),
        false => json_of(format!("{{\"hyperhive\":{{{}}}}}", members.join(","))),
    }
}
