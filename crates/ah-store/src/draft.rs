//! Drafts.

use ah_model::{Draft, DraftFields, DraftId, NewTask, Page, PageRequest, TaskBatch};
use async_trait::async_trait;

use crate::StoreError;

/// Tasks not sent yet.
#[async_trait]
pub trait Drafts {
    /// Saves a draft: a new one without `id`, else over the one of that id, made if absent.
    async fn save_draft(
        &self,
        id: Option<DraftId>,
        fields: DraftFields,
    ) -> Result<Draft, StoreError>;

    /// The draft of that id.
    async fn draft(&self, id: DraftId) -> Result<Draft, StoreError>;

    /// The drafts, by id, which is the order they were begun in when we minted it. A page may end early
    /// when what it holds is large.
    async fn list_drafts(&self, page: PageRequest) -> Result<Page<Draft>, StoreError>;

    /// Removes a draft.
    async fn delete_draft(&self, id: DraftId) -> Result<(), StoreError>;

    /// Sends a draft: records `task` and removes the draft, both or neither.
    async fn launch_draft(&self, id: DraftId, task: NewTask) -> Result<TaskBatch, StoreError>;
}
