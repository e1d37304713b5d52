//! Restore: what a program that runs agents loads at its start.

use ah_model::{Agent, AgentFilter, Lifecycle, PageLimit, PageRequest};

use crate::{ContextLimit, Kind, Restored, Store, StoreError, repair_session};

/// The agents that take part. None of their history is read: [`restore_agent`] does that for one
/// when it is needed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// Those to be restored, by name.
    pub active: Vec<Agent>,
    /// Those that are known and not restored until they wake, by name.
    pub sleeping: Vec<Agent>,
}

/// Loads every agent that is not dead, without any history.
pub async fn load_agents(store: &dyn Store) -> Result<Roster, StoreError> {
    let lifecycles = vec![Lifecycle::Active, Lifecycle::Sleeping];
    let filter = AgentFilter { lifecycles, ..AgentFilter::default() };
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut roster = Roster::default();
    loop {
        let page = store.list_agents(filter.clone(), request).await?;
        for agent in page.items {
            match agent.lifecycle {
                Lifecycle::Active => roster.active.push(agent),
                Lifecycle::Sleeping => roster.sleeping.push(agent),
                Lifecycle::Dead => {}
            }
        }
        if page.next_cursor.is_none() {
            return Ok(roster);
        }
        request = PageRequest { limit: PageLimit::MAX, cursor: page.next_cursor };
    }
}

/// Closes what a crash left open in the agent's active session, and gives its context.
pub async fn restore_agent(
    store: &dyn Store,
    agent: &Agent,
    limit: ContextLimit,
) -> Result<Restored, StoreError> {
    let Some(session) = agent.active_session_id.clone() else {
        return Err(StoreError::conflict(Kind::Agent, &agent.name, "has no session"));
    };
    repair_session(store, session, limit).await
}
