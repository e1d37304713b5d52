//! Approvals.

use ah_model::{Approval, ApprovalFilter, ApprovalId, Decision, NewApproval, Page, PageRequest};
use ah_store::{Approvals, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct CarriedOut {
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

fn approvals() -> Target {
    Target::new(["approvals"])
}

fn approval_target(id: &ApprovalId, part: &str) -> Target {
    Target::new(["approvals", id.as_str(), part])
}

#[async_trait]
impl Approvals for RestStore {
    async fn request_approval(&self, approval: NewApproval) -> Result<Approval, StoreError> {
        self.create(Method::POST, &approvals(), &approval)
    }

    async fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        self.http.get(&Target::new(["approvals", id.as_str()]))
    }

    async fn approval_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        self.http.items(Target::new(["approval-ids"]).pair("prefix", prefix))
    }

    async fn list_approvals(
        &self,
        filter: ApprovalFilter,
        page: PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        self.http.list(approvals().query(&filter).query(&page))
    }

    async fn decide_approval(
        &self,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, StoreError> {
        self.create(Method::POST, &approval_target(&id, "decision"), &decision)
    }

    async fn carried_out(
        &self,
        id: ApprovalId,
        problem: Option<String>,
    ) -> Result<Approval, StoreError> {
        let target = approval_target(&id, "carried-out");
        self.create(Method::POST, &target, &CarriedOut { problem })
    }
}
