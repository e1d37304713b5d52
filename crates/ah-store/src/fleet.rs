//! Fleets and their fences.

use ah_model::{
    Fence, FenceId, FenceReport, Fleet, FleetChange, FleetFilter, FleetsSwept, NewFence, NewFleet,
    Page, PageRequest, SessionId,
};
use async_trait::async_trait;

use crate::StoreError;

/// Executors that work on one session together. What happens to a fleet is in the events of its
/// session, [`ah_model::fleet_events`], in the transaction in which it happens. A fleet is about
/// executors of here and now: an export of its session leaves it out, as it does runs.
#[async_trait]
pub trait Fleets {
    /// Forms a fleet of a session: its members' runs are queued. A session that has a live one, or
    /// that has ended, is a conflict.
    async fn create_fleet(&self, fleet: NewFleet) -> Result<Fleet, StoreError>;

    /// The fleet of a session; the last one if it was ended.
    async fn fleet(&self, session: SessionId) -> Result<Fleet, StoreError>;

    /// Fleets, the newest first.
    async fn list_fleets(
        &self,
        filter: FleetFilter,
        page: PageRequest,
    ) -> Result<Page<Fleet>, StoreError>;

    /// Changes a live fleet. Another leader raises its epoch and gives up its open fence; one that
    /// leads already changes nothing. Whoever leaves is stopped, and a fence that waits for it is
    /// given up; who joins has no part in an open one.
    async fn change_fleet(
        &self,
        session: SessionId,
        change: FleetChange,
    ) -> Result<Fleet, StoreError>;

    /// Ends a fleet: its open fence is given up and all its runs are asked to stop. Again is no
    /// change. A session that ends, or is asked to stop, ends its fleet too.
    async fn end_fleet(&self, session: SessionId) -> Result<Fleet, StoreError>;

    /// Begins a fence of a session's live fleet. One that is open already is a conflict.
    async fn start_fence(&self, fence: NewFence) -> Result<Fence, StoreError>;

    /// The fence of that id, as it is: what is due shows after the next [`Self::sweep_fleets`].
    async fn fence(&self, id: FenceId) -> Result<Fence, StoreError>;

    /// The fences of a session, the newest first.
    async fn list_fences(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<Fence>, StoreError>;

    /// The fences that are open, oldest first; at most [`ah_model::limits::FENCES_OPEN_MAX`], fewer
    /// when they are large.
    async fn open_fences(&self) -> Result<Vec<Fence>, StoreError>;

    /// Notes what the holder of a member says at a fence. Once all have the same files, the runs of
    /// the step are queued with it. Who does not hold the member's run, or is not to speak now, is a
    /// conflict; saying the same again is no change. What is said after the deadline is late,
    /// whether or not it was swept.
    async fn report_fence(&self, report: FenceReport) -> Result<Fence, StoreError>;

    /// Applies what time has decided: fences that are over, and leaders that were lost, whose fleets
    /// go to a successor under the next epoch. Bounded by [`ah_model::limits::SWEEP_MAX`]; do it
    /// again while it did something.
    async fn sweep_fleets(&self) -> Result<FleetsSwept, StoreError>;
}
