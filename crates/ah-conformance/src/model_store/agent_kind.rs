//! Agent kinds in the oracle.

use ah_model::{AgentKind, AgentKindRef, Page, PageRequest, RawJson};
use ah_store::{AgentKinds, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows, numbered_page};

#[async_trait]
impl AgentKinds for ModelStore {
    async fn put_agent_kind(
        &self,
        kind: AgentKindRef,
        metadata: Option<RawJson>,
    ) -> Result<AgentKind, StoreError> {
        kind.check()?;
        self.write(|rows, _| Ok(rows.put_agent_kind(kind, metadata)))
    }

    async fn list_agent_kinds(&self, page: PageRequest) -> Result<Page<AgentKind>, StoreError> {
        self.read(|rows| numbered_page(&rows.agent_kinds, &page, |kind| kind.id))
    }
}

impl Rows {
    pub(super) fn put_agent_kind(
        &mut self,
        kind: AgentKindRef,
        metadata: Option<RawJson>,
    ) -> AgentKind {
        let known = self.agent_kinds.values_mut().find(|row| row.kind == kind);
        if let Some(known) = known {
            known.metadata = metadata.or(known.metadata.take());
            return known.clone();
        }
        let id = self.next_number();
        let row = AgentKind { id, kind, metadata };
        self.agent_kinds.insert(id, row.clone());
        row
    }
}
