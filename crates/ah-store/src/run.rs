//! Runs: queued, leased, reported, swept.

use ah_model::{
    Appended, Callback, ExecutorId, Lease, NewEvent, NewRun, OutboxId, Page, PageRequest, Renewed,
    Reports, ReportsTaken, Run, RunClaim, RunEnd, RunFilter, RunId, Session, SessionId,
    SessionUpdate, Swept,
};
use async_trait::async_trait;

use crate::StoreError;

/// Executions of sessions. Who holds a run proves it with its [`Lease`]; a lease of an older epoch
/// is a conflict and changes nothing.
#[async_trait]
pub trait Runs {
    /// Queues a run, and creates its session with it when that is given. A session that has a live
    /// run, or whose status does not allow this kind, is a conflict; so is an id that is taken.
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError>;

    /// The run of that id.
    async fn run(&self, id: RunId) -> Result<Run, StoreError>;

    /// Runs in the order in which they were queued, newest first. A page may end early when what it
    /// holds is large.
    async fn list_runs(
        &self,
        filter: RunFilter,
        page: PageRequest,
    ) -> Result<Page<Run>, StoreError>;

    /// The runs of a session, oldest first; at most [`ah_model::limits::PAGE_ITEMS_MAX`], newest.
    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError>;

    /// Leases the run that waits longest of those that the executor may take, by
    /// [`ah_model::Taker::may_take`]; or the one that is named, if it waits and may be taken. Nobody
    /// else gets it while the lease lasts. A claim that found nothing keeps no answer under its key.
    async fn claim_run(&self, claim: RunClaim) -> Result<Option<Run>, StoreError>;

    /// Keeps a lease for so many milliseconds from now. The answer shows whether a stop is wanted.
    async fn renew_run(&self, lease: Lease, lease_ms: u64) -> Result<Run, StoreError>;

    /// Keeps many leases of one executor for so many milliseconds from now, at most
    /// [`ah_model::limits::RENEW_RUNS_MAX`]. A lease that is not that executor's is lost.
    async fn renew_runs(
        &self,
        executor: ExecutorId,
        leases: Vec<Lease>,
        lease_ms: u64,
    ) -> Result<Renewed, StoreError>;

    /// Applies what an executor reports from its outbox, each item once and in order: those up to
    /// what is kept already are passed over, a gap behind it is invalid. What is not said by the
    /// holder of the run is refused for ever, and recorded in the executor's history.
    async fn take_reports(&self, reports: Reports) -> Result<ReportsTaken, StoreError>;

    /// How far the reports of an outbox are kept; 0 if none is.
    async fn reported_through(
        &self,
        executor: ExecutorId,
        outbox: OutboxId,
    ) -> Result<u64, StoreError>;

    /// The holder cannot go on: what a sweep does when a lease is over is done at once. One that had
    /// not begun is queued again. Saying it with an older epoch is a conflict.
    async fn lose_run(&self, lease: Lease) -> Result<Run, StoreError>;

    /// The holder began: the session is running. Saying it again is no change.
    async fn start_run(&self, lease: Lease) -> Result<Run, StoreError>;

    /// The holder began and says where it works.
    async fn bind_run(&self, lease: Lease, update: SessionUpdate) -> Result<Session, StoreError>;

    /// Appends to the session of a run, for its holder only. As [`crate::Events::append_events`].
    async fn append_to_run(
        &self,
        lease: Lease,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError>;

    /// The holder is done: ends the run, moves the session, and records the callback that the
    /// parent waits for. Saying the same again is no change; another end is a conflict.
    async fn finish_run(&self, lease: Lease, end: RunEnd) -> Result<Run, StoreError>;

    /// Asks a session to stop: its live run ends if nobody has it, else its holder is told. Asking
    /// again is no change; a session that has ended is a conflict.
    async fn stop_session(&self, id: SessionId) -> Result<Session, StoreError>;

    /// Asks a run to stop, as [`Self::stop_session`] does for its session; one that has ended is a
    /// conflict.
    async fn stop_run(&self, id: RunId) -> Result<Run, StoreError>;

    /// The runs of an executor that it has to stop, at most [`ah_model::limits::SWEEP_MAX`]. Each
    /// is handed out once, and again after [`ah_model::limits::STOP_AGAIN_MS`] if it still lives.
    async fn stop_orders(&self, executor: ExecutorId) -> Result<Vec<Run>, StoreError>;

    /// Applies what time has decided: claims that are over are queued again, runs whose holder was
    /// lost or that nobody took have ended, parents are told. Also drops answers of keyed requests
    /// that are too old. Bounded by [`ah_model::limits::SWEEP_MAX`]; do it again while it did
    /// something.
    async fn sweep_runs(&self) -> Result<Swept, StoreError>;

    /// What children have told, or are about to tell, a session; oldest first; at most
    /// [`ah_model::limits::PAGE_ITEMS_MAX`], newest.
    async fn callbacks(&self, parent: SessionId) -> Result<Vec<Callback>, StoreError>;

    /// Records a run that ended elsewhere, as it is; `false` if it is known already. One that has
    /// not ended is invalid.
    async fn restore_run(&self, run: Run) -> Result<bool, StoreError>;
}
