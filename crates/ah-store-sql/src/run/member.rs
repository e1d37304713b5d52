//! Runs of the members of a session's fleet: many may live at once, and none moves the session.

use ah_model::{ChangeKind, Lease, MemberName, NewRun, Run, RunId, RunStatus, Session, SessionId};
use ah_store::{Kind, StoreError};

use super::row;
use crate::change;
use crate::resources::Resources;
use crate::tx::{Tx, query_all};

/// Queues a run of a member of the session, which is locked.
pub(crate) fn queue_of_member(
    tx: &mut dyn Tx,
    ctx: &Resources,
    new: NewRun,
    member: &MemberName,
    session: &Session,
) -> Result<Run, StoreError> {
    let now = ctx.now();
    let id = match new.id.clone() {
        Some(id) => id,
        None => ctx.ids.run(now)?,
    };
    let run = Run::of_member(new, member.clone(), id, session, now);
    row::insert(tx, &run)?;
    change::run(tx, ctx, ChangeKind::RunQueued, &run)?;
    Ok(run)
}

const OF_MEMBERS: &str = " WHERE session_id = $1 AND member IS NOT NULL \
    AND status IN ('pending', 'claimed', 'running', 'stopping')";

/// The live runs of the members of a session.
pub(crate) fn live_members(tx: &mut dyn Tx, session: &SessionId) -> Result<Vec<Run>, StoreError> {
    let sql = format!("{}{OF_MEMBERS}", row::SELECT);
    query_all(tx, &sql, &[session.as_str().into()], row::read)
}

/// Asks the live runs of members of a session, which is locked, to stop: of all, or of one. They are
/// locked in the order of their ids, as renewals do.
pub(crate) fn stop_members(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &SessionId,
    member: Option<&MemberName>,
) -> Result<(), StoreError> {
    let sql = format!("SELECT id, member FROM runs{OF_MEMBERS} ORDER BY id");
    let read = |row: &dyn crate::tx::Row| Ok((row.parse::<RunId>(0)?, row.parse::<MemberName>(1)?));
    for (id, name) in query_all(tx, &sql, &[session.as_str().into()], read)? {
        if member.is_some_and(|member| *member != name) {
            continue;
        }
        let run = row::lock(tx, &id)?;
        stop_member(tx, ctx, run)?;
    }
    Ok(())
}

/// Asks a run of a member, which is locked, to stop; one that has ended meanwhile stays as it is.
fn stop_member(tx: &mut dyn Tx, ctx: &Resources, mut run: Run) -> Result<(), StoreError> {
    let before = run.status;
    let Ok(ended) = run.stop(ctx.now()) else { return Ok(()) };
    if run.status == before {
        return Ok(());
    }
    row::save(tx, &run)?;
    let kind = if ended { ChangeKind::RunUpdated } else { ChangeKind::RunStopping };
    change::run(tx, ctx, kind, &run)
}

/// The run of a lease, which nobody else changes until the transaction ends; refused for who does
/// not hold it.
pub(crate) fn lock_held(tx: &mut dyn Tx, lease: &Lease) -> Result<Run, StoreError> {
    let run = row::lock(tx, &lease.run_id)?;
    let held = run.check_held(lease);
    held.map_err(|reason| StoreError::conflict(Kind::Run, &run.id, reason))?;
    Ok(run)
}

const LIVE: &str = "SELECT id FROM runs WHERE session_id = $1 \
    AND status IN ('pending', 'claimed', 'running', 'stopping') ORDER BY id";

/// A run of the session, which is locked, that somebody holds, those of its fleet among them. From
/// now on nobody takes one.
pub(crate) fn held(tx: &mut dyn Tx, session: &SessionId) -> Result<Option<Run>, StoreError> {
    for id in query_all(tx, LIVE, &[session.as_str().into()], |row| row.parse(0))? {
        let run = row::lock(tx, &id)?;
        if run.status.is_live() && run.status != RunStatus::Pending {
            return Ok(Some(run));
        }
    }
    Ok(None)
}
