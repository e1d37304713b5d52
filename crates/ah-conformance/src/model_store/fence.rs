//! Fences in the oracle, and what time does to them and to leaders.

use ah_model::{
    Cursor, Fence, FenceId, FenceOutcome, FenceReport, FleetStatus, FleetsSwept, MemberName,
    NewFence, Page, PageRequest, Run, SessionId, fleet_events, fleet_reasons, limits,
};
use ah_store::{Kind, StoreError};

use super::run::refused;
use super::{Door, Rows, after_text, overfull};

impl Rows {
    pub(super) fn known_fence(&self, id: &FenceId) -> Result<&Fence, StoreError> {
        self.fences.get(id).ok_or_else(|| StoreError::not_found(Kind::Fence, id))
    }

    pub(super) fn open_fence(&self, session: &SessionId) -> Option<&Fence> {
        let mut fences = self.fences.values();
        fences.find(|fence| fence.session_id == *session && fence.status.is_open())
    }

    pub(super) fn list_fences(
        &self,
        session: &SessionId,
        page: &PageRequest,
    ) -> Result<Page<Fence>, StoreError> {
        self.row(session)?;
        let before = after_text(page)?;
        let fences = self.fences.values().rev().filter(|fence| {
            fence.session_id == *session && before.is_none_or(|before| fence.id.as_str() < before)
        });
        let items = overfull(fences.cloned(), page);
        let cursor = |fence: &Fence| Cursor::Text(fence.id.to_string());
        Ok(Page::from_overfull(items, page.limit, cursor))
    }

    pub(super) fn start_fence(&mut self, new: NewFence, door: &Door) -> Result<Fence, StoreError> {
        let conflict = |reason| StoreError::conflict(Kind::Session, &new.session_id, reason);
        let fleet = self.fleet(&new.session_id)?;
        fleet.check_live(None).map_err(conflict)?;
        if let Some(open) = self.open_fence(&new.session_id) {
            return Err(conflict(format!("has the open fence {}", open.id)));
        }
        let now = door.now();
        let fence = Fence::started(new.clone(), door.ids.fence(now)?, fleet, now)?;
        self.fences.insert(fence.id.clone(), fence.clone());
        self.tell_session(
            &fence.session_id,
            fleet_events::FENCE_STARTED,
            &fence.started_data(),
            door,
        )?;
        Ok(fence)
    }

    /// The inner refusal is kept, with the end of a fence that was over when it came.
    pub(super) fn report_fence(
        &mut self,
        report: &FenceReport,
        door: &Door,
    ) -> Result<Result<Fence, StoreError>, StoreError> {
        let mut fence = self.known_fence(&report.fence_id)?.clone();
        let run = self.run_mut(&report.lease.run_id)?.clone();
        run.check_held(&report.lease).map_err(|reason| refused(&run, reason))?;
        let now = door.now();
        let expired = fence.expire(now);
        let heard = fence.hear(&run.id, run.executor_id.as_ref(), &report.what, now);
        if heard == Ok(true) {
            let member = fence.member_of(&run.id).unwrap();
            if member.outcome == Some(FenceOutcome::Consistent) {
                self.fleet_mut(&fence.session_id)?.reach(&member.name.clone(), &fence.id);
            }
        }
        if expired || heard == Ok(true) {
            fence = self.follow_fence(fence, door)?;
        }
        let conflict = |reason| StoreError::conflict(Kind::Fence, &report.fence_id, reason);
        Ok(heard.map(|_| fence).map_err(conflict))
    }

    /// Keeps a fence that has moved; once all have the same files, with the runs of its step.
    fn follow_fence(&mut self, mut fence: Fence, door: &Door) -> Result<Fence, StoreError> {
        let runs = fence.step_runs(self.fleet(&fence.session_id)?)?;
        for (member, new) in runs {
            let run = self.queue_of_member(new, &member, door)?;
            fence.step.as_mut().unwrap().runs.insert(member, run.id);
        }
        if !fence.status.is_open() {
            let session = fence.session_id.clone();
            self.tell_session(&session, fleet_events::FENCE_RESULT, &fence.result_data(), door)?;
        }
        self.fences.insert(fence.id.clone(), fence.clone());
        Ok(fence)
    }

    /// Ends the open fence of a session, if it has one.
    pub(super) fn give_up_fence(
        &mut self,
        session: &SessionId,
        reason: &str,
        door: &Door,
    ) -> Result<(), StoreError> {
        let Some(mut fence) = self.open_fence(session).cloned() else { return Ok(()) };
        fence.give_up(reason, door.now());
        self.follow_fence(fence, door).map(drop)
    }

    /// First the fences in the order in which their time came, then leaders by their session.
    pub(super) fn sweep_fleets(&mut self, door: &Door) -> Result<FleetsSwept, StoreError> {
        let now = door.now();
        let mut swept = FleetsSwept::default();
        let mut over: Vec<Fence> = self.fences.values().cloned().collect();
        over.retain_mut(|fence| fence.expire(now));
        over.sort_by(|a, b| (a.deadline_at, &a.id).cmp(&(b.deadline_at, &b.id)));
        for fence in over.into_iter().take(limits::SWEEP_MAX) {
            swept.fences += 1;
            self.follow_fence(fence, door)?;
        }
        for (session, name) in self.successors(door).into_iter().take(limits::SWEEP_MAX) {
            swept.leaders += 1;
            self.lead(&session, &name, fleet_reasons::LOST, door)?;
        }
        Ok(swept)
    }

    fn successors(&self, door: &Door) -> Vec<(SessionId, MemberName)> {
        let runs: Vec<Run> = self.runs.values().map(|row| row.run.clone()).collect();
        let live = self.fleets.values().filter(|fleet| fleet.status == FleetStatus::Live);
        let next = live.filter_map(|fleet| {
            Some((fleet.session_id.clone(), fleet.successor(&runs, door.now())?.clone()))
        });
        next.collect()
    }
}
