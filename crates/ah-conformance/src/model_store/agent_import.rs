//! Imports of agents in the oracle.

use ah_model::{
    Agent, AgentId, AgentImport, AgentImported, IMPORTED, Lifecycle, NewSession, Origin, RETIRED,
    SessionId, SessionImport,
};
use ah_store::{Kind, StoreError};

use super::agent::is_of;
use super::{Door, Rows};

impl Rows {
    pub(super) fn import_agent(
        &mut self,
        import: AgentImport,
        door: &Door,
    ) -> Result<AgentImported, StoreError> {
        let origin = import.agent.origin.clone().unwrap();
        let known = self.agent_from(&origin).cloned();
        let created = known.is_none();
        let mut agent = match known {
            Some(known) => known,
            None => self.new_imported(&import, door)?,
        };
        if !created {
            agent.take_newer(&import)?;
        }
        let mut done = AgentImported {
            agent_id: agent.id.clone(),
            name: agent.name.clone(),
            created,
            sessions: 0,
            events: 0,
            present: 0,
        };
        let mut last = None;
        for (place, part) in import.sessions.iter().enumerate() {
            let end_reason = import.end_reason(place);
            let new = session_of(&import, part, &origin);
            last = Some(self.import_session(&mut agent, new, part, end_reason, &mut done, door)?);
        }
        self.settle_active(&mut agent, &origin.source, &last.unwrap(), &import)?;
        Ok(done)
    }

    /// The agent under the id it wants, if that is free, and the first of its names that is.
    fn new_imported(&self, import: &AgentImport, door: &Door) -> Result<Agent, StoreError> {
        let free =
            |id: &AgentId| !self.agents.contains_key(id) && self.agent_named(id.as_str()).is_none();
        let id = match import.agent.id.clone().filter(free) {
            Some(id) => id,
            None => door.ids.agent(door.now())?,
        };
        let wanted = import.agent.id.as_ref().map(AgentId::as_str);
        let is_id = |name: &str| {
            wanted != Some(name) && self.agents.keys().any(|other| other.as_str() == name)
        };
        let free = |name: &String| self.agent_named(name).is_none() && !is_id(name);
        let name = import.names().find(free).unwrap();
        Ok(Agent::imported(import, id, name)?)
    }

    /// Brings in one session and its events, and counts them in `done`.
    fn import_session(
        &mut self,
        agent: &mut Agent,
        new: NewSession,
        part: &SessionImport,
        end_reason: &str,
        done: &mut AgentImported,
        door: &Door,
    ) -> Result<SessionId, StoreError> {
        let known = new.origin.as_ref().and_then(|origin| self.holder(origin)).cloned();
        let id = match known {
            Some(id) if !is_of(self.row(&id)?, &agent.id) => {
                return Err(StoreError::conflict(Kind::Session, id, "belongs to another agent"));
            }
            Some(id) => id,
            None => {
                done.sessions += 1;
                let id = self.insert_session(new, part.created_at, door)?.id;
                self.join(&id, agent.begins_session(part.cause))?;
                id
            }
        };
        // The events find the agent by its id to count its tokens.
        self.agents.insert(agent.id.clone(), agent.clone());
        for event in &part.events {
            match self.append_event(&id, event.clone(), door.now()) {
                (_, true) => done.events += 1,
                (_, false) => done.present += 1,
            }
        }
        agent.usage = self.agents[&agent.id].usage;
        self.row_mut(&id)?.follow_import(part, end_reason);
        Ok(id)
    }

    /// The last session goes on, unless the agent has gone on here or is dead.
    fn settle_active(
        &mut self,
        agent: &mut Agent,
        source: &str,
        last: &SessionId,
        import: &AgentImport,
    ) -> Result<(), StoreError> {
        let left = agent.active_session_id.clone().filter(|active| active != last);
        let active = left.as_ref().map(|id| self.row(id)).transpose()?;
        let newest = self.row(last)?.clone();
        if Agent::follows_import(active, &newest, source) {
            let cause = newest.of_agent.as_ref().unwrap().cause;
            if let Some(left) = left {
                self.row_mut(&left)?.close(cause.as_str(), newest.created_at);
            }
            agent.active_session_id = Some(last.clone());
        } else {
            self.row_mut(last)?.close(IMPORTED, newest.last_activity_at);
        }
        if agent.lifecycle == Lifecycle::Dead {
            let active = agent.active_session_id.clone().unwrap();
            let dying = self.row_mut(&active)?;
            dying.close(RETIRED, import.updated_at.max(dying.last_activity_at));
        }
        self.agents.insert(agent.id.clone(), agent.clone());
        Ok(())
    }
}

/// The session that `part` becomes when it is not here yet.
fn session_of(import: &AgentImport, part: &SessionImport, origin: &Origin) -> NewSession {
    let mut new = NewSession {
        id: None,
        parent: None,
        origin: Some(Origin {
            source: origin.source.clone(),
            external_id: part.external_id.clone(),
        }),
        ..import.agent.session.clone()
    };
    new.details.reset_message.clone_from(&part.reset_message);
    new.details.inference_session_id.clone_from(&part.inference_session_id);
    new
}
