//! Stopping: who asks is answered at once, who holds the run is told until it has ended.

use ah_model::{
    ChangeKind, ExecutorId, Run, RunEnd, RunId, RunOutcome, Session, SessionId, Timestamp, limits,
};
use ah_store::{Kind, StoreError};

use super::{Locked, end, live, row, with_session};
use crate::resources::Resources;
use crate::session::{self, Access};
use crate::tx::{Tx, query_all};
use crate::{change, fleet};

/// Asks a session to stop, with the run that executes it.
pub(super) fn session(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &SessionId,
) -> Result<Session, StoreError> {
    let mut session = session::get(tx, id, Access::Change)?;
    fleet::end_with(tx, ctx, &mut session)?;
    match live(tx, id)? {
        Some(run) => {
            let mut locked = Locked { run, session };
            stop(tx, ctx, &mut locked)?;
            Ok(locked.session)
        }
        None => {
            let before = session.status;
            session
                .stop(false, ctx.now())
                .map_err(|reason| StoreError::conflict(Kind::Session, id, reason))?;
            if session.status != before {
                session::save_status(tx, ctx, &session)?;
            }
            Ok(session)
        }
    }
}

/// Asks a run to stop, and its session with it; that of a member stops alone.
pub(super) fn run(tx: &mut dyn Tx, ctx: &Resources, id: &RunId) -> Result<Run, StoreError> {
    let mut locked = with_session(tx, id)?;
    if locked.run.member.is_none() {
        fleet::end_with(tx, ctx, &mut locked.session)?;
    }
    stop(tx, ctx, &mut locked)?;
    Ok(locked.run)
}

fn stop(tx: &mut dyn Tx, ctx: &Resources, locked: &mut Locked) -> Result<(), StoreError> {
    let (before, now) = (locked.run.status, ctx.now());
    let ended = locked
        .run
        .stop(now)
        .map_err(|reason| StoreError::conflict(Kind::Run, &locked.run.id, reason))?;
    if ended {
        return end(tx, ctx, locked, &RunEnd::new(RunOutcome::Stopped)).map(drop);
    }
    let Locked { run, session } = locked;
    if run.status != before {
        row::save(tx, run)?;
        change::run(tx, ctx, ChangeKind::RunStopping, run)?;
    }
    if run.member.is_some() {
        return Ok(());
    }
    let standing = session.status;
    session
        .stop(true, now)
        .map_err(|reason| StoreError::conflict(Kind::Session, &session.id, reason))?;
    if session.status == standing {
        return Ok(());
    }
    session::save_status(tx, ctx, session)
}

const ORDERS: &str = " WHERE executor_id = $1 AND status = 'stopping' \
    AND (stop_told_at IS NULL OR stop_told_at <= $2) ORDER BY number LIMIT $3";

/// The time before which an order must have been handed out to be handed out again.
fn again(ctx: &Resources) -> Timestamp {
    ctx.now().minus_ms(i64::try_from(limits::STOP_AGAIN_MS).unwrap_or(0))
}

/// The runs that an executor has to be told to stop.
pub(super) fn due_orders(
    tx: &mut dyn Tx,
    ctx: &Resources,
    executor: &ExecutorId,
) -> Result<Vec<Run>, StoreError> {
    let sql = format!("{}{ORDERS}", row::SELECT);
    let most = limits::SWEEP_MAX as u64;
    query_all(tx, &sql, &[executor.as_str().into(), again(ctx).into(), most.into()], row::read)
}

const TOLD: &str = "UPDATE runs SET stop_told_at = $1 WHERE id = $2 AND status = 'stopping' \
    AND (stop_told_at IS NULL OR stop_told_at <= $3)";

/// Hands them out, each to one who asks.
pub(super) fn take_orders(
    tx: &mut dyn Tx,
    ctx: &Resources,
    executor: &ExecutorId,
) -> Result<Vec<Run>, StoreError> {
    let mut taken = Vec::new();
    for run in due_orders(tx, ctx, executor)? {
        let params = [ctx.now().into(), run.id.as_str().into(), again(ctx).into()];
        if tx.execute(TOLD, &params)? > 0 {
            taken.push(run);
        }
    }
    Ok(taken)
}
