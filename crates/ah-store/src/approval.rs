//! Decisions that only the operator may take.

use ah_model::{Approval, ApprovalFilter, ApprovalId, Decision, NewApproval, Page, PageRequest};
use async_trait::async_trait;

use crate::StoreError;

/// Approvals: asked for, decided once, carried out.
#[async_trait]
pub trait Approvals {
    /// Asks for an approval. An agent that is not known is not found, unless it is to be spawned; a
    /// dead one is a conflict, unless it was destroyed and is to be spawned, and spawning one that
    /// lives is a conflict. An agent that waits for its spawn already gets that answer again.
    async fn request_approval(&self, approval: NewApproval) -> Result<Approval, StoreError>;

    /// The approval of that id.
    async fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError>;

    /// The ids that begin with `prefix`, at most two: enough to tell unique from not.
    async fn approval_ids_with_prefix(&self, prefix: String)
    -> Result<Vec<ApprovalId>, StoreError>;

    /// Approvals in the order of asking, newest first. A page may end early when what it holds is
    /// large.
    async fn list_approvals(
        &self,
        filter: ApprovalFilter,
        page: PageRequest,
    ) -> Result<Page<Approval>, StoreError>;

    /// Decides, and tells the agent. The same decision again is a success that changes nothing,
    /// another one a conflict. Approving the spawn of a destroyed agent brings it back in the same
    /// step: it is active and begins a session, and the approval is carried out.
    async fn decide_approval(
        &self,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, StoreError>;

    /// Notes that the host has done what was approved, or why not yet. What was not approved is a
    /// conflict; what was carried out stays so.
    async fn carried_out(
        &self,
        id: ApprovalId,
        problem: Option<String>,
    ) -> Result<Approval, StoreError>;
}
