//! What time decides: fences that are over, leaders that were lost.

use ah_model::{
    FenceId, FleetStatus, FleetsSwept, MemberName, SessionId, Timestamp, fleet_reasons, limits,
};
use ah_store::StoreError;

use super::{fence, lead, row};
use crate::resources::Resources;
use crate::tx::{Tx, query_all};
use crate::{run, session};

const OVER: &str = "SELECT id FROM fences WHERE status IN ('snapshot', 'pull') \
    AND deadline_at <= $1 ORDER BY deadline_at, id LIMIT $2";

fn over(tx: &mut dyn Tx, now: Timestamp, most: usize) -> Result<Vec<FenceId>, StoreError> {
    query_all(tx, OVER, &[now.into(), (most as u64).into()], |row| row.parse(0))
}

/// Fleets that are looked at together.
const LOOK_AT_ONCE: u64 = 128;

/// Live fleets whose leader nobody holds. Whether another can lead is the model's to say.
const NOT_LED: &str = "SELECT f.session_id FROM fleets f LEFT JOIN runs r ON r.id = f.leader_run_id \
    WHERE f.status = 'live' AND f.session_id > $1 \
    AND (r.id IS NULL OR r.status NOT IN ('claimed', 'running', 'stopping')) \
    ORDER BY f.session_id LIMIT $2";

/// Sessions whose fleet goes to a successor, at most `most`.
fn lost(tx: &mut dyn Tx, now: Timestamp, most: usize) -> Result<Vec<SessionId>, StoreError> {
    let (mut lost, mut after) = (Vec::new(), String::new());
    while lost.len() < most {
        let params = [(&after).into(), LOOK_AT_ONCE.into()];
        let looked: Vec<SessionId> = query_all(tx, NOT_LED, &params, |row| row.parse(0))?;
        let Some(last) = looked.last() else { break };
        after = last.to_string();
        for session in looked {
            match successor(tx, &session, now) {
                Ok(Some(_)) => lost.push(session),
                // A row that cannot be read costs itself; `check` names it.
                Ok(None) | Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    lost.truncate(most);
    Ok(lost)
}

fn successor(
    tx: &mut dyn Tx,
    session: &SessionId,
    now: Timestamp,
) -> Result<Option<MemberName>, StoreError> {
    let fleet = row::find_fleet(tx, session)?.filter(|fleet| fleet.status == FleetStatus::Live);
    let Some(fleet) = fleet else { return Ok(None) };
    let runs = run::live_members(tx, session)?;
    Ok(fleet.successor(&runs, now).cloned())
}

/// Whether a sweep would find anything. Looking costs no write, and most of the time is enough.
pub(super) fn is_due(tx: &mut dyn Tx, ctx: &Resources) -> Result<bool, StoreError> {
    let now = ctx.now();
    Ok(!over(tx, now, 1)?.is_empty() || !lost(tx, now, 1)?.is_empty())
}

/// Applies it, to a bounded number of fences and fleets.
pub(super) fn sweep(tx: &mut dyn Tx, ctx: &Resources) -> Result<FleetsSwept, StoreError> {
    let now = ctx.now();
    let mut swept = FleetsSwept::default();
    for id in over(tx, now, limits::SWEEP_MAX)? {
        match fence::expire(tx, ctx, &id) {
            Ok(expired) => swept.fences += u64::from(expired),
            // Gone meanwhile, or a row that cannot be read.
            Err(StoreError::NotFound { .. } | StoreError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    for session in lost(tx, now, limits::SWEEP_MAX)? {
        if !session::exists_locked(tx, &session)? {
            continue;
        }
        // Looked at again now that it is locked.
        let Some(name) = successor(tx, &session, now)? else { continue };
        let mut fleet = row::fleet(tx, &session)?;
        swept.leaders += u64::from(lead(tx, ctx, &mut fleet, &name, fleet_reasons::LOST)?);
    }
    Ok(swept)
}
