//! Removal in SQL: `old` takes what the rules say, `purge` what belonged to an agent, `budget`
//! bounds a step, `receipt` keeps the account.
//!
//! A step locks the receipt, then agents, their sessions, and what is removed.

mod budget;
mod old;
mod purge;
pub(crate) mod receipt;
mod session;

use ah_model::{
    AgentId, Page, PageRequest, Receipt, ReceiptId, Reclaimed, RemovalStep, RetentionRules, Tally,
};
use ah_store::{Retention, StoreError};
use async_trait::async_trait;

use crate::{Engine, SqlStore};

#[async_trait]
impl Retention for SqlStore {
    async fn plan_retention(&self, rules: RetentionRules) -> Result<Tally, StoreError> {
        self.read(move |tx, ctx| old::plan(tx, ctx, &rules)).await
    }

    async fn retention_step(&self, rules: RetentionRules) -> Result<RemovalStep, StoreError> {
        // Sessions are looked for among all that stay, which need not hold writers up.
        let asked = rules.clone();
        let old = self.read(move |tx, ctx| old::sessions(tx, ctx, &asked)).await?;
        self.write(move |tx, ctx| old::step(tx, ctx, &rules, &old)).await
    }

    async fn purge_step(&self, id: AgentId) -> Result<RemovalStep, StoreError> {
        self.write(move |tx, ctx| purge::step(tx, ctx, &id)).await
    }

    async fn add_to_receipt(&self, id: ReceiptId, removed: Tally) -> Result<Receipt, StoreError> {
        self.write(move |tx, _| receipt::add(tx, &id, &removed)).await
    }

    async fn list_receipts(&self, page: PageRequest) -> Result<Page<Receipt>, StoreError> {
        self.read(move |tx, _| receipt::list(tx, &page)).await
    }

    async fn reclaim_space(&self) -> Result<Reclaimed, StoreError> {
        match &self.inner.engine {
            Engine::Sqlite(engine) => engine.reclaim().await,
            // Autovacuum makes the space usable again; giving it back would lock whole tables.
            Engine::Postgres(_) => Ok(Reclaimed::default()),
        }
    }
}
