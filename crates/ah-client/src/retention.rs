//! Removal of what is too old, and of what belonged to purged agents.

use ah_model::{
    AgentId, Page, PageRequest, Receipt, ReceiptId, Reclaimed, RemovalStep, RetentionRules, Tally,
};
use ah_store::{Retention, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::agent::agent_target;

fn retention_target(part: &str) -> Target {
    Target::new(["retention", part])
}

#[async_trait]
impl Retention for RestStore {
    async fn plan_retention(&self, rules: RetentionRules) -> Result<Tally, StoreError> {
        self.http.send(Method::POST, &retention_target("plan"), &rules)
    }

    async fn retention_step(&self, rules: RetentionRules) -> Result<RemovalStep, StoreError> {
        self.http.send(Method::POST, &retention_target("step"), &rules)
    }

    async fn purge_step(&self, id: AgentId) -> Result<RemovalStep, StoreError> {
        self.http.order(Method::POST, &agent_target(&id, "purge"))
    }

    async fn add_to_receipt(&self, id: ReceiptId, removed: Tally) -> Result<Receipt, StoreError> {
        let target = Target::new(["retention", "receipts", id.as_str(), "add"]);
        self.create(Method::POST, &target, &removed)
    }

    async fn list_receipts(&self, page: PageRequest) -> Result<Page<Receipt>, StoreError> {
        self.http.list(retention_target("receipts").query(&page))
    }

    async fn reclaim_space(&self) -> Result<Reclaimed, StoreError> {
        self.http.order(Method::POST, &retention_target("reclaim"))
    }
}
