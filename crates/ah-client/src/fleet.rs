//! Fleets and their fences.

use ah_model::{
    Fence, FenceId, FenceReport, FenceSaid, Fleet, FleetChange, FleetFilter, FleetsSwept, Lease,
    NewFence, NewFleet, Page, PageRequest, SessionId,
};
use ah_store::{Fleets, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::session::session_target;

#[derive(Serialize)]
struct Said {
    lease: Lease,
    what: FenceSaid,
}

fn of_fleet(session: &SessionId, part: &str) -> Target {
    Target::new(["sessions", session.as_str(), "fleet", part])
}

#[async_trait]
impl Fleets for RestStore {
    async fn create_fleet(&self, fleet: NewFleet) -> Result<Fleet, StoreError> {
        self.create(Method::POST, &session_target(&fleet.session_id, "fleet"), &fleet)
    }

    async fn fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.http.get(&session_target(&session, "fleet"))
    }

    async fn list_fleets(
        &self,
        filter: FleetFilter,
        page: PageRequest,
    ) -> Result<Page<Fleet>, StoreError> {
        self.http.list(Target::new(["fleets"]).query(&filter).query(&page))
    }

    async fn change_fleet(
        &self,
        session: SessionId,
        change: FleetChange,
    ) -> Result<Fleet, StoreError> {
        self.create(Method::POST, &of_fleet(&session, "changes"), &change)
    }

    async fn end_fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.order_once(Method::POST, &of_fleet(&session, "end"))
    }

    async fn start_fence(&self, fence: NewFence) -> Result<Fence, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        fence.check()?;
        self.create(Method::POST, &session_target(&fence.session_id, "fences"), &fence)
    }

    async fn fence(&self, id: FenceId) -> Result<Fence, StoreError> {
        self.http.get(&Target::new(["fences", id.as_str()]))
    }

    async fn list_fences(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<Fence>, StoreError> {
        self.http.list(session_target(&session, "fences").query(&page))
    }

    async fn open_fences(&self) -> Result<Vec<Fence>, StoreError> {
        self.http.items(Target::new(["fences"]))
    }

    async fn report_fence(&self, report: FenceReport) -> Result<Fence, StoreError> {
        let FenceReport { fence_id, lease, what } = report;
        let target = Target::new(["fences", fence_id.as_str(), "reports"]);
        self.create(Method::POST, &target, &Said { lease, what })
    }

    async fn sweep_fleets(&self) -> Result<FleetsSwept, StoreError> {
        self.http.order(Method::POST, &Target::new(["fleets", "sweep"]))
    }
}
