//! Removal of what is too old, and of what belonged to purged agents.

use ah_model::{
    AgentId, Page, PageRequest, Receipt, ReceiptId, Reclaimed, RemovalStep, RetentionRules, Tally,
};
use async_trait::async_trait;

use crate::StoreError;

/// Removal in bounded steps, each with its receipt in the same transaction.
#[async_trait]
pub trait Retention {
    /// What the rules would remove now. Changes nothing.
    async fn plan_retention(&self, rules: RetentionRules) -> Result<Tally, StoreError>;

    /// Removes some of what the rules say, at most [`ah_model::limits::REMOVAL_ROWS_MAX`] rows, and
    /// adds it to the open receipt; the last step closes it. A step that finds nothing and no open
    /// receipt still leaves one, closed and empty.
    async fn retention_step(&self, rules: RetentionRules) -> Result<RemovalStep, StoreError>;

    /// Removes some of what belongs to a destroyed agent: messages to it, its approvals, the
    /// questions it asked or was asked, its tokens, its sessions with their events and runs, and in
    /// the last step the agent itself, after which its name is free. Sessions that others were
    /// forked from stay and belong to nobody. An agent that was not destroyed is a conflict.
    async fn purge_step(&self, id: AgentId) -> Result<RemovalStep, StoreError>;

    /// Adds what the host removed beside the store (files) to a receipt.
    async fn add_to_receipt(&self, id: ReceiptId, removed: Tally) -> Result<Receipt, StoreError>;

    /// Receipts, newest first.
    async fn list_receipts(&self, page: PageRequest) -> Result<Page<Receipt>, StoreError>;

    /// Gives some unused space back to the file system, at most
    /// [`ah_model::limits::RECLAIM_BYTES_MAX`], while others go on. Stores that do it by themselves
    /// answer that there is none.
    async fn reclaim_space(&self) -> Result<Reclaimed, StoreError>;
}
