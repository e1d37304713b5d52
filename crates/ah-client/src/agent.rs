//! Agents. The server's `/agents` is its catalogue of kinds; identities are `/agent-instances`.

use ah_model::{
    Agent, AgentFilter, AgentId, AgentImport, AgentImported, AgentUpdate, Appended, Approval,
    Lifecycle, NewAgent, NewEvent, Order, Origin, Page, PageRequest, Renewal, Session, SessionId,
};
use ah_store::{Agents, StoreError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

const INSTANCES: &str = "agent-instances";

#[derive(Deserialize)]
struct Found {
    // Without this an absent key would be taken for none.
    #[serde(deserialize_with = "Option::deserialize")]
    agent: Option<Agent>,
}

#[derive(Serialize)]
struct Life {
    lifecycle: Lifecycle,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Append {
    events: Vec<NewEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_session: Option<SessionId>,
}

fn agent_of(id: &AgentId) -> Target {
    Target::new([INSTANCES, id.as_str()])
}

/// A part of the agent.
pub(crate) fn agent_target(id: &AgentId, part: &str) -> Target {
    Target::new([INSTANCES, id.as_str(), part])
}

#[async_trait]
impl Agents for RestStore {
    async fn create_agent(&self, agent: NewAgent) -> Result<Agent, StoreError> {
        self.create(Method::POST, &Target::new([INSTANCES]), &agent)
    }

    async fn agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.http.get(&agent_of(&id))
    }

    async fn agent_of_name(&self, name: String) -> Result<Option<Agent>, StoreError> {
        let target = Target::new(["agent-names"]).pair("name", name);
        self.http.get(&target).map(|Found { agent }| agent)
    }

    async fn agent_of_origin(&self, origin: Origin) -> Result<Option<Agent>, StoreError> {
        let target = Target::new(["agent-origins"])
            .pair("source", origin.source)
            .pair("externalId", origin.external_id);
        self.http.get(&target).map(|Found { agent }| agent)
    }

    async fn agent_ids_with_prefix(&self, prefix: String) -> Result<Vec<AgentId>, StoreError> {
        self.http.items(Target::new(["agent-ids"]).pair("prefix", prefix))
    }

    async fn list_agents(
        &self,
        filter: AgentFilter,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        self.http.list(Target::new([INSTANCES]).query(&filter).query(&page))
    }

    async fn update_agent(&self, id: AgentId, update: AgentUpdate) -> Result<Agent, StoreError> {
        self.http.send(Method::PATCH, &agent_of(&id), &update)
    }

    async fn set_agent_lifecycle(
        &self,
        id: AgentId,
        lifecycle: Lifecycle,
    ) -> Result<Agent, StoreError> {
        self.http.send(Method::PUT, &agent_target(&id, "lifecycle"), &Life { lifecycle })
    }

    async fn destroy_agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.order_once(Method::POST, &agent_target(&id, "destroy"))
    }

    async fn revive_agent(&self, id: AgentId) -> Result<Approval, StoreError> {
        self.order_once(Method::POST, &agent_target(&id, "revive"))
    }

    async fn renew_agent(&self, id: AgentId, renewal: Renewal) -> Result<Session, StoreError> {
        self.create(Method::POST, &agent_target(&id, "sessions"), &renewal)
    }

    async fn append_to_agent(
        &self,
        id: AgentId,
        expected: Option<SessionId>,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        NewEvent::check_batch(&events)?;
        let append = Append { events, expected_session: expected };
        self.create(Method::POST, &agent_target(&id, "events"), &append)
    }

    async fn agent_sessions(
        &self,
        id: AgentId,
        order: Order,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        self.http.list(agent_target(&id, "sessions").query(&order).query(&page))
    }

    async fn import_agent(&self, import: AgentImport) -> Result<AgentImported, StoreError> {
        self.http.send(Method::POST, &Target::new(["agent-imports"]), &import)
    }
}
