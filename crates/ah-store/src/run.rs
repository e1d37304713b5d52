//! Runs.

use ah_model::{NewRun, Run, RunId, SessionId};
use async_trait::async_trait;

use crate::StoreError;

/// Executions of sessions.
#[async_trait]
pub trait Runs {
    /// Queues a run; a session that has a live one is a conflict.
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError>;

    /// The run of that id.
    async fn run(&self, id: RunId) -> Result<Run, StoreError>;

    /// The runs of a session, oldest first; at most [`ah_model::limits::PAGE_ITEMS_MAX`], newest.
    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError>;
}
