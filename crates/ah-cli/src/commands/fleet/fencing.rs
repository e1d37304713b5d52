//! Beginning a fence, waiting for its end, and what to say of one that failed.

use std::sync::Arc;
use std::time::Duration;

use ah_model::{Event, Fence, FenceId, FenceOutcome, FenceStatus, NewFence, fleet_events};
use ah_store::{Store, StoreError, block_on};
use serde::Deserialize;

use super::{refused, view};
use crate::app::App;
use crate::commands::waiting::{Following, REST, TICK};
use crate::error::{CommandError, Exit};

/// Begins a fence, and follows its session from there on.
pub(super) fn begin(
    store: &Arc<dyn Store>,
    new: NewFence,
) -> Result<(Fence, Following), CommandError> {
    new.check()?;
    // Where no access point runs nobody else ended one whose time is over.
    sweep(&**store)?;
    let session = new.session_id.clone();
    let after = block_on(store.session(session.clone()))?.last_seq;
    let following = Following::new(store, &session, after)?;
    let fence = block_on(store.start_fence(new)).map_err(|error| {
        let hint = format!(
            "`ah fleet fences {session}` shows one that is open, `ah fleet show {session}` the fleet"
        );
        refused(error.into(), &hint)
    })?;
    Ok((fence, following))
}

/// Waits until the fence has ended, and hands every event up to its end to `show`. Whoever stops
/// waiting leaves the fence as it is.
pub(super) fn ended(
    app: &App,
    store: &dyn Store,
    fence: &Fence,
    following: &mut Following,
    mut show: impl FnMut(&Event) -> Result<(), CommandError>,
) -> Result<Fence, CommandError> {
    loop {
        let left = fence.deadline_at.unix_ms() - app.now().unix_ms();
        let wait = match u64::try_from(left) {
            Ok(left) if left > 0 => TICK.min(Duration::from_millis(left)),
            _ => {
                sweep(store)?;
                // Clocks differ: the store's may not have come so far.
                REST
            }
        };
        let Some(event) = following.next(wait)? else { continue };
        show(&event)?;
        if event.kind == fleet_events::FENCE_RESULT && is_of(&event, &fence.id) {
            return Ok(block_on(store.fence(fence.id.clone()))?);
        }
    }
}

/// Whether an event tells of that fence.
pub(super) fn is_of(event: &Event, fence: &FenceId) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told {
        fence_id: FenceId,
    }
    let kinds = [fleet_events::FENCE_STARTED, fleet_events::FENCE_RESULT];
    let told = || serde_json::from_str::<Told>(event.data.as_str());
    kinds.contains(&event.kind.as_str()) && told().is_ok_and(|told| told.fence_id == *fence)
}

/// Ends fences whose time is over. A server does that itself, and may not let others ask for it.
fn sweep(store: &dyn Store) -> Result<(), CommandError> {
    loop {
        match block_on(store.sweep_fleets()) {
            Ok(swept) if swept.is_empty() => return Ok(()),
            Ok(_) => {}
            Err(StoreError::Forbidden { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Refuses a fence that not all have reached, naming who has not.
pub(super) fn require_consistent(fence: &Fence) -> Result<(), CommandError> {
    let (id, session) = (&fence.id, &fence.session_id);
    let late = view::names(&fence.laggards().cloned().collect::<Vec<_>>());
    let (what, hint) = match fence.status {
        FenceStatus::Consistent => return Ok(()),
        FenceStatus::Error => (
            format!("failed: {}", failures(fence)),
            format!(
                "correct that, then fence again; `ah fleet fences {session}` shows all of them"
            ),
        ),
        FenceStatus::Timeout | FenceStatus::Snapshot | FenceStatus::Pull => (
            format!("timed out: {late} did not have the files of {} in time", fence.leader),
            format!(
                "`ah fleet show {session}` shows who is held; `ah fleet remove {session} NAME` lets \
                 one go, `--timeout 5m` gives more time"
            ),
        ),
    };
    let message = format!("fence {id} of session {session} {what}");
    let error = CommandError::new(Exit::Failed, message).hint(hint);
    match &fence.step {
        Some(_) => Err(error.hint("nothing was run")),
        None => Err(error),
    }
}

fn failures(fence: &Fence) -> String {
    let failed = fence.members.iter().filter(|one| one.outcome != Some(FenceOutcome::Consistent));
    let failed = failed.map(|one| {
        let detail = one.detail.as_deref().unwrap_or_else(|| view::outcome(one.outcome));
        format!("{} ({detail})", one.name)
    });
    failed.collect::<Vec<_>>().join(", ")
}
