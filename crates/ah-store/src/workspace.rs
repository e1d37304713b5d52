//! Workspaces, on stores whose capabilities say so; the others answer `Unsupported`.

use ah_model::{Page, PageRequest, Workspace};
use async_trait::async_trait;

use crate::StoreError;

/// Named groups of sessions.
#[async_trait]
pub trait Workspaces {
    /// Creates a workspace; a name that is taken is a conflict.
    async fn create_workspace(
        &self,
        name: String,
        external_id: Option<String>,
    ) -> Result<Workspace, StoreError>;

    /// The workspaces, by number.
    async fn list_workspaces(&self, page: PageRequest) -> Result<Page<Workspace>, StoreError>;
}
