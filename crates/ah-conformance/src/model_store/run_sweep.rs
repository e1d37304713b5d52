//! What time and lost holders do to runs, in the oracle.

use ah_model::{Due, Lease, Run, RunStatus, Swept, Timestamp, limits};
use ah_store::StoreError;

use super::run::refused;
use super::{Door, Rows};

impl Rows {
    /// First the runs whose lease is over, then those that nobody took, each in the order in which
    /// their time came; then parents by their id.
    pub(super) fn sweep_runs(&mut self, door: &Door) -> Result<Swept, StoreError> {
        let now = door.now();
        let queued_before = self.runs.len();
        let mut swept = Swept::default();
        let mut due = self.places(|run| run.due(now) != Due::Nothing);
        due.sort_by_key(|place| self.deadline(*place));
        due.truncate(limits::SWEEP_MAX);
        for place in due {
            let due = self.runs[&place].run.due(now);
            match &due {
                Due::Nothing => {}
                Due::Requeue => swept.requeued += 1,
                Due::End(_) => swept.ended += 1,
            }
            self.apply_due(place, due, door)?;
        }
        for parent in self.waiting_parents() {
            self.deliver(&parent, door)?;
        }
        swept.callbacks = (self.runs.len() - queued_before) as u64;
        self.drop_old_answers(now);
        Ok(swept)
    }

    /// Whether it waits, when its time was over, and its place among those with the same time.
    fn deadline(&self, place: i64) -> (bool, Option<Timestamp>, i64) {
        let run = &self.runs[&place].run;
        match run.status == RunStatus::Pending {
            true => (true, run.take_by, place),
            false => (false, run.lease_expires_at, place),
        }
    }

    pub(super) fn lose_run(&mut self, lease: &Lease, door: &Door) -> Result<Run, StoreError> {
        let run = self.run_mut(&lease.run_id)?;
        run.check_held(lease).map_err(|reason| refused(run, reason))?;
        let due = run.lost();
        for place in self.places(|run| run.id == lease.run_id) {
            self.apply_due(place, due.clone(), door)?;
        }
        Ok(self.run_mut(&lease.run_id)?.clone())
    }

    pub(super) fn apply_due(
        &mut self,
        place: i64,
        due: Due,
        door: &Door,
    ) -> Result<(), StoreError> {
        let run = self.run_at(place);
        match due {
            Due::Nothing => Ok(()),
            Due::Requeue => {
                run.requeue(door.now());
                Ok(())
            }
            Due::End(end) => {
                run.end(&end, door.now());
                let run = run.clone();
                self.follow_end(&run, &end, door)
            }
        }
    }
}
