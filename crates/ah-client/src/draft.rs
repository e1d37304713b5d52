//! Drafts.

use ah_model::{Draft, DraftFields, DraftId, NewTask, Page, PageRequest, TaskBatch};
use ah_store::{Drafts, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::http::BATCH_BYTES_MAX;

fn draft_of(id: &DraftId) -> Target {
    Target::new(["drafts", id.as_str()])
}

#[async_trait]
impl Drafts for RestStore {
    async fn save_draft(
        &self,
        id: Option<DraftId>,
        fields: DraftFields,
    ) -> Result<Draft, StoreError> {
        match id {
            None => self.create(Method::POST, &Target::new(["drafts"]), &fields),
            Some(id) => self.create(Method::PUT, &draft_of(&id), &fields),
        }
    }

    async fn draft(&self, id: DraftId) -> Result<Draft, StoreError> {
        self.http.get(&draft_of(&id))
    }

    async fn list_drafts(&self, page: PageRequest) -> Result<Page<Draft>, StoreError> {
        self.http.list(Target::new(["drafts"]).query(&page))
    }

    async fn delete_draft(&self, id: DraftId) -> Result<(), StoreError> {
        self.http.delete(&draft_of(&id))
    }

    async fn launch_draft(&self, id: DraftId, task: NewTask) -> Result<TaskBatch, StoreError> {
        let target = Target::new(["drafts", id.as_str(), "launch"]).up_to(BATCH_BYTES_MAX);
        self.create(Method::POST, &target, &task)
    }
}
