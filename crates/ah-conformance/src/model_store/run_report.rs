//! What holders report of their runs, and who asks them to stop, in the oracle.

use ah_model::{
    ExecutorId, Lease, Run, RunEnd, RunOutcome, RunStatus, Session, SessionId, Timestamp, limits,
};
use ah_store::{Kind, StoreError};

use super::run::refused;
use super::{Door, Rows};

impl Rows {
    /// The session follows only the first time.
    pub(super) fn start_run(&mut self, lease: &Lease, now: Timestamp) -> Result<Run, StoreError> {
        let run = self.run_mut(&lease.run_id)?;
        let first = run.started_at.is_none();
        run.start(lease, now).map_err(|reason| refused(run, reason))?;
        let run = run.clone();
        if first && run.member.is_none() {
            self.row_mut(&run.session_id)?.run_started(run.kind, now);
        }
        Ok(run)
    }

    /// A run that completed had begun, though nobody said so; one that did not may never have.
    pub(super) fn finish_run(
        &mut self,
        lease: &Lease,
        end: &RunEnd,
        door: &Door,
    ) -> Result<Run, StoreError> {
        let now = door.now();
        let run = self.run_mut(&lease.run_id)?;
        let news = run.finish(lease, end, now).map_err(|reason| refused(run, reason))?;
        let unsaid = run.started_at.is_none() && end.outcome == RunOutcome::Completed;
        if news && unsaid {
            run.started_at = Some(now);
        }
        let run = run.clone();
        if news {
            if unsaid && run.member.is_none() {
                self.row_mut(&run.session_id)?.run_started(run.kind, now);
            }
            self.follow_end(&run, end, door)?;
        }
        Ok(run)
    }

    pub(super) fn stop_session(
        &mut self,
        id: &SessionId,
        door: &Door,
    ) -> Result<Session, StoreError> {
        let now = door.now();
        self.row(id)?;
        self.end_fleet(id, door)?;
        match self.live_run(id).cloned() {
            None => self.ask_to_stop(id, false, now)?,
            Some(run) if run.status == RunStatus::Pending => {
                let run = self.run_mut(&run.id)?;
                run.stop(now).map_err(|reason| refused(run, reason))?;
                let run = run.clone();
                self.follow_end(&run, &RunEnd::new(RunOutcome::Stopped), door)?;
            }
            Some(run) => {
                let run = self.run_mut(&run.id)?;
                run.stop(now).map_err(|reason| refused(run, reason))?;
                self.ask_to_stop(id, true, now)?;
            }
        }
        self.shown(id)
    }

    /// A session that was ended has nothing left to do: its live run is asked to stop, and so is its
    /// fleet.
    pub(super) fn end_work(&mut self, id: &SessionId, door: &Door) -> Result<(), StoreError> {
        self.end_fleet(id, door)?;
        if self.live_run(id).is_some() {
            self.stop_session(id, door)?;
        }
        Ok(())
    }

    fn ask_to_stop(
        &mut self,
        id: &SessionId,
        at_work: bool,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let stopped = self.row_mut(id)?.stop(at_work, now);
        stopped.map_err(|reason| StoreError::conflict(Kind::Session, id, reason))
    }

    pub(super) fn stop_orders(&mut self, executor: &ExecutorId, now: Timestamp) -> Vec<Run> {
        let orders = self.runs.values_mut().filter(|row| {
            row.run.status == RunStatus::Stopping
                && row.run.executor_id.as_ref() == Some(executor)
                && row.told_at.is_none_or(|told| told.plus_ms(limits::STOP_AGAIN_MS) <= now)
        });
        let tell = |row: &mut super::RunRow| {
            row.told_at = Some(now);
            row.run.clone()
        };
        orders.take(limits::SWEEP_MAX).map(tell).collect()
    }
}
