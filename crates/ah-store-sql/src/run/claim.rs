//! Taking runs. A claim locks the run alone and waits for nobody, so claims never block each other.

use ah_model::{ChangeKind, Demands, Offer, Run, RunClaim, RunId, RunStatus};
use ah_store::StoreError;

use super::row;
use crate::change;
use crate::resources::Resources;
use crate::tx::{Tx, query_all, query_first};

/// Waiting runs that are looked at together.
const LOOK_AT_ONCE: u64 = 128;

const WAITING: &str = "SELECT id, number, demands FROM runs \
    WHERE status = 'pending' AND number > $1 ORDER BY number LIMIT $2";

/// A run that waits: its id, its place and what it demands.
type Waiting = (RunId, i64, Demands);

/// Some runs that wait behind a place.
fn waiting(tx: &mut dyn Tx, after: i64) -> Result<Vec<Waiting>, StoreError> {
    query_all(tx, WAITING, &[after.into(), LOOK_AT_ONCE.into()], |row| {
        let demands = row.opt_text(2)?.as_deref().map(row::demands).unwrap_or_default();
        Ok((row.parse(0)?, row.int(1)?, demands))
    })
}

/// The place of the run that waits longest of those that `offer` meets.
pub(super) fn first(tx: &mut dyn Tx, offer: &Offer) -> Result<Option<i64>, StoreError> {
    let mut after = -1;
    loop {
        let waiting = waiting(tx, after)?;
        if let Some((_, place, _)) = waiting.iter().find(|(_, _, demands)| offer.meets(demands)) {
            return Ok(Some(*place));
        }
        match waiting.last() {
            Some((_, place, _)) => after = *place,
            None => return Ok(None),
        }
    }
}

/// The run that waits longest, from a place on, of those that `claim` may take, leased to it.
pub(super) fn claim(
    tx: &mut dyn Tx,
    ctx: &Resources,
    claim: &RunClaim,
    from: i64,
) -> Result<Option<Run>, StoreError> {
    let mut after = from - 1;
    loop {
        let waiting = waiting(tx, after)?;
        for (id, _, _) in waiting.iter().filter(|(_, _, demands)| claim.offer.meets(demands)) {
            match take(tx, ctx, id, claim) {
                Ok(None) => {}
                // A row that cannot be read costs itself; `check` names it.
                Err(StoreError::Corrupt { .. }) => {}
                taken => return taken,
            }
        }
        match waiting.last() {
            Some((_, place, _)) => after = *place,
            None => return Ok(None),
        }
    }
}

/// Leases one run, unless somebody else has just taken it.
fn take(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &RunId,
    claim: &RunClaim,
) -> Result<Option<Run>, StoreError> {
    let sql = format!("{} WHERE id = $1{}", row::SELECT, tx.dialect().unless_taken());
    let found = query_first(tx, &sql, &[id.as_str().into()], row::read)?;
    let Some(mut run) = found.filter(|run| run.status == RunStatus::Pending) else {
        return Ok(None);
    };
    run.claim(claim, ctx.now());
    row::save(tx, &run)?;
    change::run(tx, ctx, ChangeKind::RunUpdated, &run)?;
    Ok(Some(run))
}
