//! Workspaces; a server without them answers so.

use ah_model::{Page, PageRequest, Workspace};
use ah_store::{StoreError, Workspaces};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Create {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
}

#[async_trait]
impl Workspaces for RestStore {
    async fn create_workspace(
        &self,
        name: String,
        external_id: Option<String>,
    ) -> Result<Workspace, StoreError> {
        self.create(Method::POST, &Target::new(["workspaces"]), &Create { name, external_id })
    }

    async fn list_workspaces(&self, page: PageRequest) -> Result<Page<Workspace>, StoreError> {
        self.http.list(Target::new(["workspaces"]).query(&page))
    }
}
