//! Runs in the oracle: the facet, the queue and what is read of it.

use ah_model::{
    Appended, Callback, ExecutorId, Invalid, Lease, NewEvent, NewRun, OutboxId, Page, PageRequest,
    Renewed, Reports, ReportsTaken, Run, RunClaim, RunEnd, RunFilter, RunId, RunStatus, Session,
    SessionId, SessionUpdate, Swept, Timestamp, check_lease_ms, check_renewal, limits,
};
use ah_store::{Kind, Runs, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, newest_page};

/// A run, and when its holder was last told to stop it.
#[derive(Clone)]
pub(super) struct RunRow {
    pub(super) run: Run,
    pub(super) told_at: Option<Timestamp>,
}

#[async_trait]
impl Runs for ModelStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        run.check()?;
        let run = self.clean(run);
        self.write_once(|rows, door| rows.create_run(run, door))
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        self.read(|rows| Ok(rows.runs[&rows.place(&id)?].run.clone()))
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        page: PageRequest,
    ) -> Result<Page<Run>, StoreError> {
        self.read(|rows| {
            let Page { items, next_cursor } =
                newest_page(&rows.runs, &page, |row| matches(&filter, &row.run))?;
            Ok(Page { items: items.into_iter().map(|row| row.run).collect(), next_cursor })
        })
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.read(|rows| {
            rows.row(&session)?;
            let runs = rows.runs.values().filter(|row| row.run.session_id == session);
            Ok(newest(runs.map(|row| row.run.clone())))
        })
    }

    async fn claim_run(&self, claim: RunClaim) -> Result<Option<Run>, StoreError> {
        claim.check()?;
        self.write_once_if(Option::is_some, |rows, door| Ok(rows.claim_run(&claim, door.now())))
    }

    async fn renew_run(&self, lease: Lease, lease_ms: u64) -> Result<Run, StoreError> {
        check_lease_ms(lease_ms)?;
        self.write_once(|rows, door| {
            let run = rows.run_mut(&lease.run_id)?;
            run.renew(&lease, lease_ms, door.now()).map_err(|reason| refused(run, reason))?;
            Ok(run.clone())
        })
    }

    async fn renew_runs(
        &self,
        executor: ExecutorId,
        leases: Vec<Lease>,
        lease_ms: u64,
    ) -> Result<Renewed, StoreError> {
        check_renewal(&leases, lease_ms)?;
        self.write(|rows, door| Ok(rows.renew_runs(&executor, leases, lease_ms, door.now())))
    }

    async fn take_reports(&self, reports: Reports) -> Result<ReportsTaken, StoreError> {
        reports.check()?;
        let reports = self.clean(reports);
        self.write_once(|rows, door| rows.take_reports(&reports, door))
    }

    async fn reported_through(
        &self,
        executor: ExecutorId,
        outbox: OutboxId,
    ) -> Result<u64, StoreError> {
        Ok(self.read(|rows| rows.outboxes.get(&(executor, outbox)).copied().unwrap_or(0)))
    }

    async fn lose_run(&self, lease: Lease) -> Result<Run, StoreError> {
        self.write_once(|rows, door| rows.lose_run(&lease, door))
    }

    async fn start_run(&self, lease: Lease) -> Result<Run, StoreError> {
        self.write_once(|rows, door| rows.start_run(&lease, door.now()))
    }

    async fn bind_run(&self, lease: Lease, update: SessionUpdate) -> Result<Session, StoreError> {
        update.check()?;
        self.write_once(|rows, door| {
            let run = rows.start_run(&lease, door.now())?;
            if run.member.is_some() {
                return rows.shown(&run.session_id);
            }
            rows.update_session(&run.session_id, &update, door.now())
        })
    }

    async fn append_to_run(
        &self,
        lease: Lease,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.write_once(|rows, door| {
            let run = rows.run_mut(&lease.run_id)?.clone();
            run.check_held(&lease).map_err(|reason| refused(&run, reason))?;
            let done = rows.append_events(&run.session_id, events, door.now())?;
            Ok(Appended { redacted, ..done })
        })
    }

    async fn finish_run(&self, lease: Lease, end: RunEnd) -> Result<Run, StoreError> {
        end.check()?;
        let end = self.clean(end);
        self.write_once(|rows, door| rows.finish_run(&lease, &end, door))
    }

    async fn stop_session(&self, id: SessionId) -> Result<Session, StoreError> {
        self.write_once(|rows, door| rows.stop_session(&id, door))
    }

    async fn stop_run(&self, id: RunId) -> Result<Run, StoreError> {
        self.write_once(|rows, door| {
            let run = rows.run_mut(&id)?.clone();
            if !run.status.is_live() {
                let reason = format!("is {} and cannot be stopped", run.status);
                return Err(refused(&run, reason));
            }
            if run.member.is_some() {
                rows.run_mut(&id)?.stop(door.now()).map_err(|reason| refused(&run, reason))?;
            } else {
                rows.stop_session(&run.session_id, door)?;
            }
            Ok(rows.run_mut(&id)?.clone())
        })
    }

    async fn stop_orders(&self, executor: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.write_once(|rows, door| Ok(rows.stop_orders(&executor, door.now())))
    }

    async fn sweep_runs(&self) -> Result<Swept, StoreError> {
        self.write(|rows, door| rows.sweep_runs(door))
    }

    async fn callbacks(&self, parent: SessionId) -> Result<Vec<Callback>, StoreError> {
        self.read(|rows| {
            rows.row(&parent)?;
            let callbacks = rows.callbacks.values();
            let of_parent = callbacks.filter(|callback| callback.parent_session_id == parent);
            Ok(newest(of_parent.cloned()))
        })
    }

    async fn restore_run(&self, run: Run) -> Result<bool, StoreError> {
        if run.status.is_live() {
            let reason = format!("{}, only a run that has ended is restored", run.status);
            return Err(Invalid::new("status", reason).into());
        }
        let run = self.clean(run);
        self.write(|rows, _| rows.restore_run(run))
    }
}

impl Rows {
    /// Queues a run. It is no activity of the session: nothing has happened to it yet.
    pub(super) fn create_run(&mut self, mut new: NewRun, door: &Door) -> Result<Run, StoreError> {
        if let Some(session) = new.session.take() {
            self.create_session(*session, door)?;
        }
        let session = self.row(&new.session_id)?;
        if let Some(live) = self.live_run(&session.id) {
            let reason = format!("has the live run {}", live.id);
            return Err(StoreError::conflict(Kind::Session, &session.id, reason));
        }
        let fits = session.check_run(new.kind);
        fits.map_err(|reason| StoreError::conflict(Kind::Session, &session.id, reason))?;
        if let Some(parent) = &new.parent_session_id {
            self.row(parent)?;
        }
        if let Some(taken) = new.id.as_ref().filter(|id| self.place(id).is_ok()) {
            return Err(StoreError::conflict(Kind::Run, taken, "exists already"));
        }
        let now = door.now();
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.run(now)?,
        };
        let run = Run::queued(new, id, session, now);
        self.insert_run(run.clone());
        Ok(run)
    }

    /// A run that ended elsewhere; a parent that is not here is dropped.
    fn restore_run(&mut self, mut run: Run) -> Result<bool, StoreError> {
        self.row(&run.session_id)?;
        if self.place(&run.id).is_ok() {
            return Ok(false);
        }
        run.parent_session_id.take_if(|id| self.row(id).is_err());
        self.insert_run(run);
        Ok(true)
    }

    pub(super) fn insert_run(&mut self, run: Run) {
        let place = self.next_number();
        self.runs.insert(place, RunRow { run, told_at: None });
    }

    fn claim_run(&mut self, claim: &RunClaim, now: Timestamp) -> Option<Run> {
        let taker = claim.taker(self.executors.get(&claim.executor_id));
        let free = |run: &Run| {
            run.status == RunStatus::Pending
                && claim.run_id.as_ref().is_none_or(|id| run.id == *id)
                && taker.may_take(&run.demands, run.requested_by.as_deref()).is_ok()
        };
        let row = self.runs.values_mut().find(|row| free(&row.run))?;
        row.run.claim(claim, now);
        Some(row.run.clone())
    }

    pub(super) fn live_run(&self, session: &SessionId) -> Option<&Run> {
        let mut runs = self.runs.values().map(|row| &row.run);
        let own = |run: &Run| run.session_id == *session && run.member.is_none();
        runs.find(|run| own(run) && run.status.is_live())
    }

    /// The live runs of a session, those of its fleet among them.
    pub(super) fn live_runs(&self, session: &SessionId) -> impl Iterator<Item = &Run> {
        let runs = self.runs.values().map(|row| &row.run);
        runs.filter(move |run| run.session_id == *session && run.status.is_live())
    }

    /// Where the runs that pass stand in the queue.
    pub(super) fn places(&self, passes: impl Fn(&Run) -> bool) -> Vec<i64> {
        let rows = self.runs.iter().filter(|(_, row)| passes(&row.run));
        rows.map(|(place, _)| *place).collect()
    }

    pub(super) fn place(&self, id: &RunId) -> Result<i64, StoreError> {
        let place = self.places(|run| run.id == *id).first().copied();
        place.ok_or_else(|| StoreError::not_found(Kind::Run, id))
    }

    pub(super) fn run_mut(&mut self, id: &RunId) -> Result<&mut Run, StoreError> {
        let place = self.place(id)?;
        Ok(self.run_at(place))
    }

    pub(super) fn run_at(&mut self, place: i64) -> &mut Run {
        &mut self.runs.get_mut(&place).unwrap().run
    }
}

pub(super) fn refused(run: &Run, reason: String) -> StoreError {
    StoreError::conflict(Kind::Run, &run.id, reason)
}

fn matches(filter: &RunFilter, run: &Run) -> bool {
    (filter.statuses.is_empty() || filter.statuses.contains(&run.status))
        && filter.session_id.as_ref().is_none_or(|id| run.session_id == *id)
        && filter.executor_id.as_ref().is_none_or(|id| run.executor_id.as_ref() == Some(id))
}

/// The last of `items`, at most a page.
fn newest<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.collect();
    let surplus = items.len().saturating_sub(limits::PAGE_ITEMS_MAX as usize);
    items.drain(..surplus);
    items
}
