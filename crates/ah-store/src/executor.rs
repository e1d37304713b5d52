//! Executors.

use ah_model::{
    Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorFilter, ExecutorId, NewExecutor,
    Page, PageRequest, RawJson, Run,
};
use async_trait::async_trait;

use crate::StoreError;

/// Machines that run sessions.
#[async_trait]
pub trait Executors {
    /// Registers an executor; the same id again replaces what it said, raises its generation and
    /// forgets that it was asked to go. One that is disabled or revoked is a conflict.
    async fn register_executor(&self, executor: NewExecutor) -> Result<Executor, StoreError>;

    /// Enrols an executor that proved who it is; the same id again replaces what it said of itself
    /// and nothing of what the operator said. What changed is in its history. One that is disabled
    /// or revoked is a conflict.
    async fn enrol_executor(&self, enrolment: Enrolment) -> Result<Executor, StoreError>;

    /// Changes what the operator says of an executor, and records who did. What it holds is lost,
    /// as by [`Self::remove_executor`], when it is disabled or revoked. A status that cannot follow
    /// the one it has is a conflict.
    async fn change_executor(
        &self,
        id: ExecutorId,
        change: ExecutorChange,
        by: Option<String>,
    ) -> Result<Executor, StoreError>;

    /// The executor of that id.
    async fn executor(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Executors by id.
    async fn list_executors(
        &self,
        filter: ExecutorFilter,
        page: PageRequest,
    ) -> Result<Page<Executor>, StoreError>;

    /// Notes a sign of life, no more often than [`ah_model::limits::SEEN_EVERY_MS`].
    async fn executor_seen(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Asks an executor to go; it is told when it next asks for work.
    async fn ask_executor_to_go(&self, id: ExecutorId) -> Result<Executor, StoreError>;

    /// Forgets an executor, but not its history. What it holds is lost at once: claims are queued
    /// again, runs at work end, as a sweep would do it. Returns those runs as they are now. One that
    /// is revoked is a conflict: forgotten, it could enrol again.
    async fn remove_executor(&self, id: ExecutorId) -> Result<Vec<Run>, StoreError>;

    /// What happened to that executor, or to all of them, newest first.
    async fn executor_history(
        &self,
        id: Option<ExecutorId>,
        page: PageRequest,
    ) -> Result<Page<ExecutorEvent>, StoreError>;

    /// Records that something happened to an executor, or to a peer that never enrolled.
    async fn note_executor(
        &self,
        id: ExecutorId,
        kind: String,
        data: RawJson,
    ) -> Result<ExecutorEvent, StoreError>;
}
