//! Agents: identities that live through many sessions.

use ah_model::{
    Agent, AgentFilter, AgentId, AgentImport, AgentImported, AgentUpdate, Appended, Approval,
    Lifecycle, NewAgent, NewEvent, Order, Origin, Page, PageRequest, Renewal, Session, SessionId,
};
use async_trait::async_trait;

use crate::StoreError;

/// Named identities with memory. Every method is one transaction.
#[async_trait]
pub trait Agents {
    /// Creates an agent and its first session; an id, origin or name that is taken is a conflict.
    /// Names are compared in any case of their letters.
    async fn create_agent(&self, agent: NewAgent) -> Result<Agent, StoreError>;

    /// The agent of that id.
    async fn agent(&self, id: AgentId) -> Result<Agent, StoreError>;

    /// The agent of that name, in any case of its letters, if there is one.
    async fn agent_of_name(&self, name: String) -> Result<Option<Agent>, StoreError>;

    /// The agent that came from `origin`, if it is known.
    async fn agent_of_origin(&self, origin: Origin) -> Result<Option<Agent>, StoreError>;

    /// The ids that begin with `prefix`, at most two: enough to tell unique from not.
    async fn agent_ids_with_prefix(&self, prefix: String) -> Result<Vec<AgentId>, StoreError>;

    /// Agents by name. A page may end early when what it holds is large.
    async fn list_agents(
        &self,
        filter: AgentFilter,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError>;

    /// Changes what is given of an agent. A dead agent, or one at another revision than expected,
    /// is a conflict.
    async fn update_agent(&self, id: AgentId, update: AgentUpdate) -> Result<Agent, StoreError>;

    /// Puts an agent to sleep, wakes it, or lets it die, which ends its session. Staying is a
    /// success that changes nothing; coming back from the dead is a conflict.
    async fn set_agent_lifecycle(
        &self,
        id: AgentId,
        lifecycle: Lifecycle,
    ) -> Result<Agent, StoreError>;

    /// Leaves a tombstone: the agent dies, its session ends, its pending approvals fail; everything
    /// else is kept. A protected agent is a conflict; a destroyed one stays as it is.
    async fn destroy_agent(&self, id: AgentId) -> Result<Agent, StoreError>;

    /// Asks for the spawn of a destroyed agent with what it left; the answer is the approval to
    /// decide. Asking again while it waits gets the same one. An agent that was not destroyed is a
    /// conflict.
    async fn revive_agent(&self, id: AgentId) -> Result<Approval, StoreError>;

    /// Begins the agent's next session and ends the one before: reset, compaction or fork. Returns
    /// the new session, which is the active one.
    ///
    /// Two at once are ordered: the second ends the session of the first, or is a conflict if it
    /// expected another. A dead agent is a conflict; a fork of another agent's session is invalid.
    async fn renew_agent(&self, id: AgentId, renewal: Renewal) -> Result<Session, StoreError>;

    /// Appends to the agent's active session, which begins to run with its first event. A dead
    /// agent, or one that goes on in another session than `expected`, is a conflict; a sleeping one
    /// stays asleep. Deduplication keys hold within one session.
    async fn append_to_agent(
        &self,
        id: AgentId,
        expected: Option<SessionId>,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError>;

    /// The agent's sessions by their number.
    async fn agent_sessions(
        &self,
        id: AgentId,
        order: Order,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError>;

    /// Brings in an agent of another store with sessions and events, all or nothing. Doing it again
    /// adds only what is new.
    ///
    /// A known agent (by its origin) takes newer state (all but its name and kind), unless it is
    /// dead here. Sessions are known by their external id and get the agent's next numbers; events
    /// by their keys. A session that is given an end gets it. The last session becomes the active
    /// one, unless that would be a step back or the agent has gone on here, in a session that came
    /// from nowhere: then it ends. An id or name that another agent has is replaced: a fresh id, a
    /// name with a number behind it.
    async fn import_agent(&self, import: AgentImport) -> Result<AgentImported, StoreError>;
}
