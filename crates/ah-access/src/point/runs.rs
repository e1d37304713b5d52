//! Runs: found in the store, given to executors, kept for them, and taken back.

use ah_model::{Lease, Renewed, Run, RunClaim, RunId};
use ah_store::StoreError;

use super::admit::is_only_claimed;
use super::input::{ConnectionId, Output};
use super::place::{Candidate, place};
use super::presence::{Assignment, Claiming};
use super::work::{Look, Work};
use super::{Looking, Point, Presence};
use crate::moment::Moment;

/// A lease is prolonged when this part of it is over.
const RENEWED_AFTER: u64 = 3;
/// When a store that failed is asked again.
const AGAIN_MS: u64 = 1_000;
/// When a run that should stop and still lives is asked again.
const STOP_AGAIN_MS: u64 = 30_000;

impl Point {
    /// The store is to be asked for work.
    pub(super) fn want_look(&mut self) {
        self.looking.again = true;
    }

    pub(super) fn look_if_wanted(&mut self, now: Moment) {
        if self.looking.now || !self.looking.again || self.present.is_empty() {
            return;
        }
        self.looking = Looking { now: true, again: false, due_ms: now.ms + self.options.look_ms };
        self.out.push(Output::Work(Work::Look));
    }

    pub(super) fn looked(&mut self, now: Moment, result: Result<Look, StoreError>) {
        self.looking.now = false;
        let Ok(look) = result else {
            self.looking.due_ms = now.ms + AGAIN_MS;
            return;
        };
        for run in look.stopping {
            self.stop_if_here(now, &run);
        }
        let placed: Vec<(RunId, Claiming, ConnectionId)> = {
            let candidates: Vec<Candidate<'_>> =
                self.present.values().filter_map(|id| self.candidate(*id, now)).collect();
            let placed = place(&look.pending, &candidates).into_iter();
            placed.map(|(run, id)| (run.id.clone(), Claiming::of(run), id)).collect()
        };
        let lease_ms = self.options.connection.lease_ms;
        for (run_id, claiming, id) in placed {
            let Some(presence) = self.presence_mut(id) else { continue };
            presence.claiming.insert(run_id.clone(), claiming);
            let claim = RunClaim {
                executor_id: presence.executor.id.clone(),
                offer: presence.executor.offer.clone(),
                lease_ms,
                run_id: Some(run_id),
            };
            let asked_ms = now.ms;
            self.out.push(Output::Work(Work::Claim { connection: id, asked_ms, claim }));
        }
    }

    fn candidate(&self, id: ConnectionId, now: Moment) -> Option<Candidate<'_>> {
        let presence = self.presence(id)?;
        let quality = presence.quality(&self.options.connection, now.ms);
        Some(Candidate {
            connection: id,
            executor: &presence.executor,
            room: presence.room(),
            fleets: presence.fleets(),
            quality,
            avoid: &presence.avoid,
        })
    }

    fn stop_if_here(&mut self, now: Moment, run: &Run) {
        let Some(executor) = &run.executor_id else { return };
        let Some(id) = self.present.get(executor).copied() else { return };
        self.stop_held(now, id, &run.lease());
    }

    fn stop_held(&mut self, now: Moment, id: ConnectionId, lease: &Lease) {
        let Some(presence) = self.presence_mut(id) else { return };
        let Some(held) = presence.assignments.get_mut(&lease.run_id) else { return };
        let is_told = held.stop_asked_ms.is_some_and(|at| now.ms < at + STOP_AGAIN_MS);
        if held.epoch != lease.epoch || is_told {
            return;
        }
        held.stop_asked_ms = Some(now.ms);
        self.stop(now, id, &lease.run_id, lease.epoch);
    }

    pub(super) fn claimed(
        &mut self,
        now: Moment,
        id: ConnectionId,
        run_id: Option<&RunId>,
        asked_ms: u64,
        result: Result<Option<Run>, StoreError>,
    ) {
        let lease_ms = self.options.connection.lease_ms;
        if let Some((presence, run_id)) = self.presence_mut(id).zip(run_id) {
            presence.claiming.remove(run_id);
        }
        let Ok(Some(run)) = result else { return };
        // One that came again meanwhile is launched what the store says it holds.
        if run.executor_id.as_ref().is_some_and(|executor| {
            self.present.get(executor).is_some_and(|current| *current != id)
        }) {
            return;
        }
        let Some(presence) = self.presence_mut(id) else {
            // The executor went meanwhile: another may have it at once.
            self.out.push(Output::Work(Work::Lose { lease: run.lease() }));
            return self.want_look();
        };
        let assignment = Assignment::new(&run, Some(asked_ms + lease_ms), presence.beats);
        presence.assignments.insert(run.id.clone(), assignment);
        self.launch(now, id, &run);
        // There may be more than one page of work.
        self.want_look();
    }

    /// The store says that an executor holds a run of which it knows nothing.
    pub(super) fn relaunch_or_lose(&mut self, now: Moment, id: ConnectionId, run: Run) {
        let Some(presence) = self.presence_mut(id) else { return };
        if is_only_claimed(&run) {
            let assignment = Assignment::new(&run, None, presence.beats);
            presence.assignments.insert(run.id.clone(), assignment);
            presence.renew_ms = presence.renew_ms.map(|_| now.ms);
            return self.launch(now, id, &run);
        }
        self.out.push(Output::Work(Work::Lose { lease: run.lease() }));
    }

    pub(super) fn renew_if_due(&mut self, now: Moment, id: ConnectionId) {
        let lease_ms = self.options.connection.lease_ms;
        let Some(presence) = self.presence_mut(id) else { return };
        if !presence.renew_ms.is_some_and(|at| now.is_past(at)) {
            return;
        }
        // What was launched and not named yet is prolonged too: it may be on its way.
        let leases: Vec<Lease> =
            presence.assignments.iter().map(|(id, held)| held.lease(id)).collect();
        if leases.is_empty() {
            presence.renew_ms = Some(now.ms + lease_ms / RENEWED_AFTER);
            return;
        }
        presence.renew_ms = None;
        let executor = presence.executor.id.clone();
        let asked_ms = now.ms;
        let work = Work::Renew { connection: id, executor, leases, lease_ms, asked_ms };
        self.out.push(Output::Work(work));
    }

    pub(super) fn renewed(
        &mut self,
        now: Moment,
        id: ConnectionId,
        asked_ms: u64,
        leases: &[Lease],
        result: Result<Renewed, StoreError>,
    ) {
        let lease_ms = self.options.connection.lease_ms;
        let Some(presence) = self.presence_mut(id) else { return };
        let Ok(renewed) = result else {
            presence.renew_ms = Some(now.ms + AGAIN_MS);
            return;
        };
        presence.renew_ms = Some(asked_ms + lease_ms / RENEWED_AFTER);
        for lease in &renewed.lost {
            presence.lose(&lease.run_id, lease.epoch);
        }
        for lease in leases {
            presence.prolong(lease, asked_ms + lease_ms);
        }
        for lease in &renewed.stop {
            self.stop_held(now, id, lease);
        }
    }
}

impl Claiming {
    fn of(run: &Run) -> Self {
        Self { session_id: run.session_id.clone(), is_hold: run.is_hold() }
    }
}

impl Presence {
    fn prolong(&mut self, lease: &Lease, until_ms: u64) {
        if let Some(held) = self.assignments.get_mut(&lease.run_id)
            && held.epoch == lease.epoch
        {
            held.lease_until_ms = Some(until_ms);
        }
    }
}
