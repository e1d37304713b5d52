//! Agent kinds: the server's `/agents`.

use ah_model::{AgentKind, AgentKindRef, Page, PageRequest, RawJson};
use ah_store::{AgentKinds, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

#[derive(Serialize)]
struct Put {
    agent: AgentKindRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<RawJson>,
}

#[async_trait]
impl AgentKinds for RestStore {
    async fn put_agent_kind(
        &self,
        kind: AgentKindRef,
        metadata: Option<RawJson>,
    ) -> Result<AgentKind, StoreError> {
        self.http.send(Method::PUT, &Target::new(["agents"]), &Put { agent: kind, metadata })
    }

    async fn list_agent_kinds(&self, page: PageRequest) -> Result<Page<AgentKind>, StoreError> {
        self.http.list(Target::new(["agents"]).query(&page))
    }
}
