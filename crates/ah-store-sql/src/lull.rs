//! When nothing is due: a batch of writes, which is one transaction, finds that out once.

use ah_model::Timestamp;
use ah_store::StoreError;

use crate::tx::{Tx, query_first};

/// The time before which nothing is due, as far as a transaction has found out. Nobody else writes
/// before it ends; what it adds itself it says by [`ends_by`].
#[derive(Debug, Default)]
pub(crate) struct Lull(Option<Timestamp>);

/// Whether the transaction knows that nothing is due at `now`.
pub(crate) fn covers(tx: &mut dyn Tx, now: Timestamp) -> bool {
    tx.lull().is_some_and(|lull| lull.0.is_some_and(|end| now < end))
}

/// A lease or a deadline was written that ends at `time`, if at all.
pub(crate) fn ends_by(tx: &mut dyn Tx, time: Option<Timestamp>) {
    if let (Some(Lull(Some(end))), Some(time)) = (tx.lull(), time) {
        *end = time.min(*end);
    }
}

const SOONEST: &str = "SELECT \
    (SELECT lease_expires_at FROM messages WHERE lease_expires_at IS NOT NULL \
     ORDER BY lease_expires_at LIMIT 1), \
    (SELECT deadline_at FROM questions WHERE status = 'open' AND deadline_at IS NOT NULL \
     ORDER BY deadline_at LIMIT 1)";

/// When the first lease or deadline ends, for transactions that keep it; it costs as much as asking
/// whether one has. Nothing if one of them is a text that only SQL can compare.
pub(crate) fn begin(tx: &mut dyn Tx) -> Result<Option<Timestamp>, StoreError> {
    if tx.lull().is_none() {
        return Ok(None);
    }
    let soonest = query_first(tx, SOONEST, &[], |row| Ok([row.opt_text(0)?, row.opt_text(1)?]))?;
    let ends = soonest.unwrap_or_default().map(|text| text.map_or(Some(Timestamp::MAX), own_form));
    let end = match ends {
        [Some(lease), Some(deadline)] => Some(lease.min(deadline)),
        _ => None,
    };
    if let Some(lull) = tx.lull() {
        lull.0 = end;
    }
    Ok(end)
}

/// The time of a text in the form of ours: only such sort as the times do.
fn own_form(text: String) -> Option<Timestamp> {
    text.parse().ok().filter(|time: &Timestamp| time.to_string() == text)
}
