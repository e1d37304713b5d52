//! What holders report: they prove with their lease that the run is still theirs.

use ah_model::{
    Appended, ChangeKind, Lease, NewEvent, Run, RunEnd, RunOutcome, Session, SessionUpdate,
};
use ah_store::{Kind, StoreError};

use super::{Locked, SESSION_OF, end, row, with_session};
use crate::event::{self, Append};
use crate::resources::Resources;
use crate::tx::{Tx, query_first};
use crate::{agent, change, session};

/// The refusal of a run that is not the caller's.
fn refused(lease: &Lease) -> impl FnOnce(String) -> StoreError {
    move |reason| StoreError::conflict(Kind::Run, &lease.run_id, reason)
}

/// Keeps the lease. Nothing of the session changes, so only the run is locked.
pub(super) fn renew(
    tx: &mut dyn Tx,
    ctx: &Resources,
    lease: &Lease,
    lease_ms: u64,
) -> Result<Run, StoreError> {
    let mut run = row::lock(tx, &lease.run_id)?;
    run.renew(lease, lease_ms, ctx.now()).map_err(refused(lease))?;
    row::save(tx, &run)?;
    Ok(run)
}

/// Notes that the holder began; the session follows, unless the run is one of its fleet.
pub(super) fn start(tx: &mut dyn Tx, ctx: &Resources, lease: &Lease) -> Result<Locked, StoreError> {
    let mut locked = with_session(tx, &lease.run_id)?;
    let (before, now) = (locked.run.clone(), ctx.now());
    locked.run.start(lease, now).map_err(refused(lease))?;
    if locked.run == before {
        return Ok(locked);
    }
    row::save(tx, &locked.run)?;
    change::run(tx, ctx, ChangeKind::RunUpdated, &locked.run)?;
    if locked.run.member.is_none() {
        locked.session.run_started(locked.run.kind, now);
        session::save_status(tx, ctx, &locked.session)?;
    }
    Ok(locked)
}

/// Notes that the holder began, and where it works.
pub(super) fn bind(
    tx: &mut dyn Tx,
    ctx: &Resources,
    lease: &Lease,
    update: &SessionUpdate,
) -> Result<Session, StoreError> {
    let Locked { session, run } = start(tx, ctx, lease)?;
    if run.member.is_some() {
        return Ok(session);
    }
    session::apply_update(tx, ctx, session, update)
}

/// Appends for the holder of a run.
pub(super) fn append(
    tx: &mut dyn Tx,
    ctx: &Resources,
    lease: &Lease,
    events: &[NewEvent],
) -> Result<Appended, StoreError> {
    let id = &lease.run_id;
    let session = query_first(tx, SESSION_OF, &[id.as_str().into()], |row| row.parse(0))?
        .ok_or_else(|| StoreError::not_found(Kind::Run, id))?;
    // An agent is locked before its sessions, everywhere.
    let agent = agent::lock_of_session(tx, &session)?;
    let locked = with_session(tx, id)?;
    locked.run.check_held(lease).map_err(refused(lease))?;
    let (session, agent) = (&session, agent.as_ref());
    let wanted = Append { session, after: None, events, agent, active_at: Some(ctx.now()) };
    event::append(tx, ctx, &wanted)
}

/// Ends the run as its holder says; the session follows and the parent is told.
pub(super) fn finish(
    tx: &mut dyn Tx,
    ctx: &Resources,
    lease: &Lease,
    wanted: &RunEnd,
) -> Result<Run, StoreError> {
    let mut locked = with_session(tx, &lease.run_id)?;
    let (kind, now) = (locked.run.kind, ctx.now());
    let begun = locked.run.started_at.is_some();
    if !locked.run.finish(lease, wanted, now).map_err(refused(lease))? {
        return Ok(locked.run);
    }
    if !begun && wanted.outcome == RunOutcome::Completed {
        // The report of its beginning was lost; it has one all the same.
        locked.run.started_at = Some(now);
        if locked.run.member.is_none() {
            locked.session.run_started(kind, now);
            session::save_status(tx, ctx, &locked.session)?;
        }
    }
    end(tx, ctx, &mut locked, wanted)?;
    Ok(locked.run)
}
