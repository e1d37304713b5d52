//! What time decides: leases that are over, runs that nobody took, parents that wait.

use ah_model::{ChangeKind, Due, ExecutorId, Lease, Run, RunId, Swept, Timestamp, limits};
use ah_store::{Kind, StoreError};

use super::{Locked, callback, end, row, with_session};
use crate::resources::Resources;
use crate::session::{self, Access};
use crate::tx::{Tx, query_all};
use crate::{change, request_key};

const OVER: &str = "SELECT id FROM runs WHERE lease_expires_at IS NOT NULL \
    AND lease_expires_at <= $1 ORDER BY lease_expires_at, number LIMIT $2";
const NOT_TAKEN: &str = "SELECT id FROM runs WHERE status = 'pending' AND take_by IS NOT NULL \
    AND take_by <= $1 ORDER BY take_by, number LIMIT $2";

/// The runs that time has decided about, at most `most` of each kind.
fn due(tx: &mut dyn Tx, now: Timestamp, most: usize) -> Result<Vec<RunId>, StoreError> {
    let params = [now.into(), (most as u64).into()];
    let mut ids = query_all(tx, OVER, &params, |row| row.parse(0))?;
    ids.extend(query_all(tx, NOT_TAKEN, &params, |row| row.parse(0))?);
    ids.truncate(most);
    Ok(ids)
}

/// Whether a sweep would find anything. Looking costs no write, and most of the time is enough.
pub(super) fn is_due(tx: &mut dyn Tx, ctx: &Resources) -> Result<bool, StoreError> {
    Ok(!due(tx, ctx.now(), 1)?.is_empty()
        || !callback::reachable(tx, 1)?.is_empty()
        || request_key::is_due(tx, ctx)?)
}

/// Applies it, to a bounded number of runs.
pub(super) fn sweep(tx: &mut dyn Tx, ctx: &Resources) -> Result<Swept, StoreError> {
    let now = ctx.now();
    let mut swept = Swept::default();
    for id in due(tx, now, limits::SWEEP_MAX)? {
        let mut locked = match with_session(tx, &id) {
            // Gone meanwhile, or a row that cannot be read, which costs itself: `check` names it.
            Err(StoreError::NotFound { .. } | StoreError::Corrupt { .. }) => continue,
            locked => locked?,
        };
        // Looked at again now that it is locked: its holder may just have renewed.
        let due = locked.run.due(now);
        apply(tx, ctx, &mut locked, due, &mut swept)?;
    }
    for parent in callback::reachable(tx, limits::SWEEP_MAX)? {
        if let Some(parent) = session::find(tx, &parent, Access::Change)?
            && callback::deliver(tx, ctx, &parent)?
        {
            swept.callbacks += 1;
        }
    }
    Ok(swept)
}

fn apply(
    tx: &mut dyn Tx,
    ctx: &Resources,
    locked: &mut Locked,
    due: Due,
    swept: &mut Swept,
) -> Result<(), StoreError> {
    match due {
        Due::Nothing => Ok(()),
        Due::Requeue => {
            locked.run.requeue(ctx.now());
            row::save(tx, &locked.run)?;
            swept.requeued += 1;
            change::run(tx, ctx, ChangeKind::RunQueued, &locked.run)
        }
        Due::End(how) => {
            locked.run.end(&how, ctx.now());
            swept.ended += 1;
            swept.callbacks += end(tx, ctx, locked, &how)?;
            Ok(())
        }
    }
}

/// A holder gives a run up.
pub(super) fn lose_one(tx: &mut dyn Tx, ctx: &Resources, lease: &Lease) -> Result<Run, StoreError> {
    let mut locked = with_session(tx, &lease.run_id)?;
    let held = locked.run.check_held(lease);
    held.map_err(|reason| StoreError::conflict(Kind::Run, &locked.run.id, reason))?;
    let due = locked.run.lost();
    apply(tx, ctx, &mut locked, due, &mut Swept::default())?;
    Ok(locked.run)
}

const HELD: &str = "SELECT id FROM runs WHERE executor_id = $1 \
    AND status IN ('claimed', 'running', 'stopping') ORDER BY number";

/// What an executor holds is lost: its runs as they are afterwards.
pub(crate) fn lose(
    tx: &mut dyn Tx,
    ctx: &Resources,
    executor: &ExecutorId,
) -> Result<Vec<Run>, StoreError> {
    let held: Vec<RunId> = query_all(tx, HELD, &[executor.as_str().into()], |row| row.parse(0))?;
    let mut lost = Vec::with_capacity(held.len());
    for id in held {
        let mut locked = with_session(tx, &id)?;
        if locked.run.executor_id.as_ref() == Some(executor) {
            let due = locked.run.lost();
            apply(tx, ctx, &mut locked, due, &mut Swept::default())?;
            lost.push(locked.run);
        }
    }
    Ok(lost)
}
