//! Fences: begun, heard, over. What happens to one is told in the log of its session with it.

use ah_model::{
    Fence, FenceId, FenceOutcome, FenceReport, Fleet, NewFence, Session, SessionId, fleet_events,
};
use ah_store::{Kind, StoreError};

use super::{refused, row, tell};
use crate::resources::Resources;
use crate::run;
use crate::session::{self, Access};
use crate::tx::Tx;

/// Begins a fence of a live fleet that has none open.
pub(super) fn start(tx: &mut dyn Tx, ctx: &Resources, new: &NewFence) -> Result<Fence, StoreError> {
    let session = &new.session_id;
    session::exists_locked(tx, session)?;
    let fleet = row::fleet(tx, session)?;
    fleet.check_live(None).map_err(refused(session))?;
    if let Some(open) = row::open_fence(tx, session)? {
        return Err(refused(session)(format!("has the open fence {}", open.id)));
    }
    let now = ctx.now();
    let fence = Fence::started(new.clone(), ctx.ids.fence(now)?, &fleet, now)?;
    row::save_fence(tx, ctx, &fence)?;
    tell(tx, ctx, session, fleet_events::FENCE_STARTED, &fence.started_data())?;
    Ok(fence)
}

/// A fence with its session, which nobody else changes until the transaction ends, and its fleet.
struct Locked {
    session: Session,
    fleet: Fleet,
    fence: Fence,
}

fn lock(tx: &mut dyn Tx, id: &FenceId) -> Result<Locked, StoreError> {
    let session = row::session_of(tx, id)?;
    // A session that has just gone took its fences along.
    let session = session::find(tx, &session, Access::Change)?
        .ok_or_else(|| StoreError::not_found(Kind::Fence, id))?;
    let (fleet, fence) = (row::fleet(tx, &session.id)?, row::fence(tx, id)?);
    Ok(Locked { session, fleet, fence })
}

/// Notes what a holder says. Its refusal is kept together with the end of a fence that was over when
/// it came; anything else that is refused changes nothing.
pub(super) fn report(
    tx: &mut dyn Tx,
    ctx: &Resources,
    report: &FenceReport,
) -> Result<Result<Fence, StoreError>, StoreError> {
    let mut locked = lock(tx, &report.fence_id)?;
    let run = run::lock_held(tx, &report.lease)?;
    let (now, fence) = (ctx.now(), &mut locked.fence);
    let expired = fence.expire(now);
    let heard = fence.hear(&run.id, run.executor_id.as_ref(), &report.what, now);
    if heard == Ok(true)
        && let Some(member) = fence.member_of(&run.id)
        && member.outcome == Some(FenceOutcome::Consistent)
    {
        locked.fleet.reach(&member.name, &fence.id);
        row::save_fleet(tx, ctx, &locked.fleet)?;
    }
    if expired || heard == Ok(true) {
        follow(tx, ctx, &mut locked)?;
    }
    let conflict = |reason| StoreError::conflict(Kind::Fence, &report.fence_id, reason);
    Ok(heard.map(|_| locked.fence).map_err(conflict))
}

/// Keeps a fence that has moved; once all have the same files, with the runs of its step.
fn follow(tx: &mut dyn Tx, ctx: &Resources, locked: &mut Locked) -> Result<(), StoreError> {
    let Locked { session, fleet, fence } = locked;
    for (member, new) in fence.step_runs(fleet)? {
        let run = run::queue_of_member(tx, ctx, new, &member, session)?;
        if let Some(step) = &mut fence.step {
            step.runs.insert(member, run.id);
        }
    }
    keep(tx, ctx, fence)
}

fn keep(tx: &mut dyn Tx, ctx: &Resources, fence: &Fence) -> Result<(), StoreError> {
    row::save_fence(tx, ctx, fence)?;
    if fence.status.is_open() {
        return Ok(());
    }
    tell(tx, ctx, &fence.session_id, fleet_events::FENCE_RESULT, &fence.result_data())
}

/// Ends the open fence of a session, which is locked; whether there was one.
pub(super) fn give_up(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &SessionId,
    reason: &str,
) -> Result<bool, StoreError> {
    let Some(mut fence) = row::open_fence(tx, session)? else { return Ok(false) };
    fence.give_up(reason, ctx.now());
    keep(tx, ctx, &fence)?;
    Ok(true)
}

/// Ends a fence whose time is over; whether it was.
pub(super) fn expire(tx: &mut dyn Tx, ctx: &Resources, id: &FenceId) -> Result<bool, StoreError> {
    let mut locked = lock(tx, id)?;
    if !locked.fence.expire(ctx.now()) {
        return Ok(false);
    }
    follow(tx, ctx, &mut locked)?;
    Ok(true)
}
