//! Taking runs. A claim locks the run alone and waits for nobody but who changes its own executor, so
//! claims never block each other.

use ah_model::{ChangeKind, Demands, Run, RunClaim, RunId, RunStatus, Taker};
use ah_store::StoreError;

use super::row;
use crate::resources::Resources;
use crate::tx::{Row, Tx, query_all, query_first};
use crate::{change, executor};

/// Waiting runs that are looked at together.
const LOOK_AT_ONCE: u64 = 128;

const WAITING: &str = "SELECT id, number, demands, requested_by FROM runs \
    WHERE status = 'pending' AND number > $1 ORDER BY number LIMIT $2";
const ONE_WAITING: &str = "SELECT id, number, demands, requested_by FROM runs \
    WHERE status = 'pending' AND number > $1 AND id = $2";

/// A run that waits.
struct Waiting {
    id: RunId,
    place: i64,
    demands: Demands,
    requested_by: Option<String>,
}

impl Waiting {
    fn read(row: &dyn Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.parse(0)?,
            place: row.int(1)?,
            demands: row.opt_text(2)?.as_deref().map(row::demands).unwrap_or_default(),
            requested_by: row.opt_text(3)?,
        })
    }

    fn is_for(&self, taker: &Taker<'_>) -> bool {
        taker.may_take(&self.demands, self.requested_by.as_deref()).is_ok()
    }
}

/// Some runs that wait behind a place; the one that is claimed by its name, if it does.
fn waiting(tx: &mut dyn Tx, claim: &RunClaim, after: i64) -> Result<Vec<Waiting>, StoreError> {
    match &claim.run_id {
        Some(id) => query_all(tx, ONE_WAITING, &[after.into(), id.as_str().into()], Waiting::read),
        None => query_all(tx, WAITING, &[after.into(), LOOK_AT_ONCE.into()], Waiting::read),
    }
}

/// The place of the run that waits longest of those that `claim` may take.
pub(super) fn first(tx: &mut dyn Tx, claim: &RunClaim) -> Result<Option<i64>, StoreError> {
    let executor = executor::find(tx, &claim.executor_id)?;
    let taker = claim.taker(executor.as_ref());
    let mut after = -1;
    loop {
        let waiting = waiting(tx, claim, after)?;
        if let Some(run) = waiting.iter().find(|run| run.is_for(&taker)) {
            return Ok(Some(run.place));
        }
        match waiting.last() {
            Some(last) => after = last.place,
            None => return Ok(None),
        }
    }
}

/// The run that waits longest, from a place on, of those that `claim` may take, leased to it. Its
/// executor stays as it is meanwhile: one that is being disabled gets nothing more.
pub(super) fn claim(
    tx: &mut dyn Tx,
    ctx: &Resources,
    claim: &RunClaim,
    from: i64,
) -> Result<Option<Run>, StoreError> {
    let executor = executor::find_settled(tx, &claim.executor_id)?;
    let taker = claim.taker(executor.as_ref());
    let mut after = from - 1;
    loop {
        let waiting = waiting(tx, claim, after)?;
        for run in waiting.iter().filter(|run| run.is_for(&taker)) {
            match take(tx, ctx, &run.id, claim) {
                Ok(None) => {}
                // A row that cannot be read costs itself; `check` names it.
                Err(StoreError::Corrupt { .. }) => {}
                taken => return taken,
            }
        }
        match waiting.last() {
            Some(last) => after = last.place,
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
