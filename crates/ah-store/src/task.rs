//! Tasks.

use ah_model::{NewTask, Page, PageRequest, Task, TaskBatch, TaskFilter};
use async_trait::async_trait;

use crate::StoreError;

/// What people asked for.
#[async_trait]
pub trait Tasks {
    /// Records a request: per session a task, a `created` session and a pending start run.
    async fn create_task(&self, task: NewTask) -> Result<TaskBatch, StoreError>;

    /// The task with that number.
    async fn task(&self, id: i64) -> Result<Task, StoreError>;

    /// Tasks, newest first. A page may end early
    /// when what it holds is large.
    async fn list_tasks(
        &self,
        filter: TaskFilter,
        page: PageRequest,
    ) -> Result<Page<Task>, StoreError>;
}
