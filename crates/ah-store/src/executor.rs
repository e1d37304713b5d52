//! Executors.

use ah_model::{Executor, ExecutorId, NewExecutor, Page, PageRequest, Run};
use async_trait::async_trait;

use crate::StoreError;

/// Machines that run sessions.
#[async_trait]
pub trait Executors {
    /// Registers an executor; the same id again replaces what it said, raises its generation and
    /// forgets that it was asked to go.
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError>;

    /// The executor of that id.
    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Executors by id.
    async fn list_executors(&self, page: PageRequest) -> Result<Page<Executor>, StoreError>;

    /// Notes a sign of life, no more often than [`ah_model::limits::SEEN_EVERY_MS`].
    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Asks an executor to go; it is told when it next asks for work.
    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Forgets an executor. What it holds is lost at once: claims are queued again, runs at work
    /// end, as a sweep would do it. Returns those runs as they are now.
    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError>;
}
