//! Executors. Their ids may hold any visible character, `/` too; in a path all but letters and
//! digits is percent-encoded.

use ah_model::{Executor, ExecutorId, NewExecutor, Page, PageRequest, Run};
use ah_store::{Executors, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

fn executor_of(id: &ExecutorId) -> Target {
    Target::new(["executors", id.as_str()])
}

/// A part of the executor.
pub(crate) fn executor_target(id: &ExecutorId, part: &str) -> Target {
    Target::new(["executors", id.as_str(), part])
}

#[async_trait]
impl Executors for RestStore {
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError> {
        self.create(Method::PUT, &executor_of(&executor.id), &executor)
    }

    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.get(&executor_of(&id))
    }

    async fn list_executors(&self, page: PageRequest) -> Result<Page<Executor>, StoreError> {
        self.http.list(Target::new(["executors"]).query(&page))
    }

    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.order(Method::POST, &executor_target(&id, "seen"))
    }

    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError> {
        self.http.order(Method::POST, &executor_target(&id, "removal"))
    }

    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError> {
        self.http.order_items(Method::DELETE, executor_of(&id))
    }
}
