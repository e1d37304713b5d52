//! Tasks.

use ah_model::{NewTask, Page, PageRequest, Task, TaskBatch, TaskFilter};
use ah_store::{StoreError, Tasks};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::http::BATCH_BYTES_MAX;

#[async_trait]
impl Tasks for RestStore {
    async fn create_task(&self, task: NewTask) -> Result<TaskBatch, StoreError> {
        self.create(Method::POST, &Target::new(["tasks"]).up_to(BATCH_BYTES_MAX), &task)
    }

    async fn task(&self, id: i64) -> Result<Task, StoreError> {
        self.http.get(&Target::new(["tasks", &id.to_string()]))
    }

    async fn list_tasks(
        &self,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Page<Task>, StoreError> {
        self.http.list(Target::new(["tasks"]).query(&filter).query(&page))
    }
}
