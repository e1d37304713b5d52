//! Workspaces in the oracle.

use ah_model::{Page, PageRequest, Workspace};
use ah_store::{Capabilities, Feature, Kind, StoreError, Workspaces};
use async_trait::async_trait;

use super::{ModelStore, Rows, numbered_page};

#[async_trait]
impl Workspaces for ModelStore {
    async fn create_workspace(
        &self,
        name: String,
        external_id: Option<String>,
    ) -> Result<Workspace, StoreError> {
        supported(self.door.capabilities)?;
        Workspace::check(&name, external_id.as_deref())?;
        self.write_once(|rows, door| {
            if rows.workspaces.values().any(|row| row.name == name) {
                let reason = "exists already";
                return Err(StoreError::conflict(Kind::Workspace, name, reason));
            }
            let id = rows.next_number();
            let created_at = door.now();
            let row = Workspace { id, name, external_id, created_at };
            rows.workspaces.insert(id, row.clone());
            Ok(row)
        })
    }

    async fn list_workspaces(&self, page: PageRequest) -> Result<Page<Workspace>, StoreError> {
        supported(self.door.capabilities)?;
        self.read(|rows| numbered_page(&rows.workspaces, &page, |workspace| workspace.id))
    }
}

fn supported(capabilities: Capabilities) -> Result<(), StoreError> {
    if capabilities.workspaces {
        return Ok(());
    }
    let feature = Feature::Workspaces;
    Err(StoreError::Unsupported { feature })
}

impl Rows {
    /// Refuses a workspace a session names but the store does not have.
    pub(super) fn check_workspace(
        &self,
        name: Option<&str>,
        capabilities: Capabilities,
    ) -> Result<(), StoreError> {
        let Some(name) = name else {
            return Ok(());
        };
        supported(capabilities)?;
        if self.knows_workspace(name) {
            return Ok(());
        }
        Err(StoreError::not_found(Kind::Workspace, name))
    }

    pub(super) fn knows_workspace(&self, name: &str) -> bool {
        self.workspaces.values().any(|row| row.name == name)
    }
}
