//! Agent kinds: the programs a store has seen.

use ah_model::{AgentKind, AgentKindRef, Page, PageRequest, RawJson};
use async_trait::async_trait;

use crate::StoreError;

/// Kinds of agents.
#[async_trait]
pub trait AgentKinds {
    /// Registers `kind`, or replaces the metadata of a known one when some is given.
    async fn put_agent_kind(
        &self,
        kind: AgentKindRef,
        metadata: Option<RawJson>,
    ) -> Result<AgentKind, StoreError>;

    /// The kinds, by number.
    async fn list_agent_kinds(&self, page: PageRequest) -> Result<Page<AgentKind>, StoreError>;
}
