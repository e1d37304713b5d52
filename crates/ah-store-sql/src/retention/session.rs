//! A session that goes: its events, oldest first, then its runs, then its row.

use ah_model::{ChangeKind, SessionId};
use ah_store::StoreError;

use super::budget::{Budget, NO_BYTES, Part};
use crate::change;
use crate::resources::Resources;
use crate::tx::Tx;

const EVENTS: Part = Part {
    class: "events",
    table: "events",
    key: "id",
    bytes: "CAST(coalesce(octet_length(data), 0) AS bigint)",
    which: "session_id = $1",
    order: "seq",
};
const RUNS: Part = Part {
    class: "runs",
    table: "runs",
    key: "id",
    bytes: NO_BYTES,
    which: "session_id = $1",
    order: "number",
};
const DELETE: &str = "DELETE FROM sessions WHERE id = $1";

/// Removes a session that is locked, as far as the budget goes. Whether it is gone.
pub(super) fn remove(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &SessionId,
    budget: &mut Budget,
) -> Result<bool, StoreError> {
    for part in [EVENTS, RUNS] {
        if !budget.remove(tx, &part, id.as_str().into())? {
            return Ok(false);
        }
    }
    if !budget.take("sessions") {
        return Ok(false);
    }
    tx.execute(DELETE, &[id.as_str().into()])?;
    change::session(tx, ctx, ChangeKind::SessionDeleted, id)?;
    Ok(true)
}
