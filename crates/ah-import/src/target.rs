//! The store that is imported into, or, in a dry run, what it would say.

use std::collections::{HashMap, HashSet};

use ah_model::{
    Agent, AgentId, AgentImport, Event, EventQuery, Origin, PageLimit, SessionId, SessionImport,
};
use ah_store::{Store, StoreError};

use crate::report::Given;

/// Where agents go.
pub(crate) struct Target<'a> {
    store: &'a dyn Store,
    dry_run: bool,
    /// Names that a dry run has given away, in lower case.
    names: HashSet<String>,
    /// The agents that a dry run said it would create, by their external ids.
    foretold: HashMap<String, Foretold>,
    /// The sessions that a dry run said it would create, by their external ids.
    sessions: HashSet<String>,
    /// The session that a dry run looked at last: one may be given in parts.
    looked_at: Option<(String, Held)>,
}

struct Foretold {
    agent_id: Option<AgentId>,
    name: String,
}

/// The keys of a session's events, or that the session is new.
enum Held {
    Nothing,
    Keys(HashSet<String>),
}

impl<'a> Target<'a> {
    pub(crate) fn new(store: &'a dyn Store, dry_run: bool) -> Self {
        Self {
            store,
            dry_run,
            names: HashSet::new(),
            foretold: HashMap::new(),
            sessions: HashSet::new(),
            looked_at: None,
        }
    }

    /// The agent that came from `source`, if it is known.
    pub(crate) async fn known(
        &self,
        source: &str,
        external_id: &str,
    ) -> Result<Option<Agent>, StoreError> {
        self.store.agent_of_origin(origin(source, external_id)).await
    }

    /// Gives an agent, or a part of it, to the store.
    pub(crate) async fn give(&mut self, import: AgentImport) -> Result<Given, StoreError> {
        match self.dry_run {
            false => Ok(self.store.import_agent(import).await?.into()),
            true => self.foretell(import).await,
        }
    }

    /// What the store would answer.
    async fn foretell(&mut self, import: AgentImport) -> Result<Given, StoreError> {
        import.check()?;
        let no_origin = || origin("", "");
        let Origin { source, external_id } = import.agent.origin.clone().unwrap_or_else(no_origin);
        let mut done = match self.known(&source, &external_id).await? {
            Some(agent) => given(Some(agent.id), agent.name, false),
            None => self.foretell_agent(&import, &external_id).await?,
        };
        for session in &import.sessions {
            self.foretell_session(&source, session, &mut done).await?;
        }
        Ok(done)
    }

    async fn foretell_agent(
        &mut self,
        import: &AgentImport,
        external_id: &str,
    ) -> Result<Given, StoreError> {
        if let Some(again) = self.foretold.get(external_id) {
            return Ok(given(again.agent_id.clone(), again.name.clone(), false));
        }
        let agent_id = self.free_id(import.agent.id.as_ref()).await?;
        let name = self.free_name(import).await?;
        let done = given(agent_id.clone(), name.clone(), true);
        self.foretold.insert(external_id.to_owned(), Foretold { agent_id, name });
        Ok(done)
    }

    async fn free_id(&self, wanted: Option<&AgentId>) -> Result<Option<AgentId>, StoreError> {
        let Some(id) = wanted else {
            return Ok(None);
        };
        match self.store.agent(id.clone()).await {
            Ok(_) => Ok(None),
            Err(StoreError::NotFound { .. }) => Ok(Some(id.clone())),
            Err(error) => Err(error),
        }
    }

    async fn free_name(&mut self, import: &AgentImport) -> Result<String, StoreError> {
        for name in import.names() {
            let lower = name.to_ascii_lowercase();
            if !self.names.contains(&lower)
                && self.store.agent_of_name(name.clone()).await?.is_none()
            {
                self.names.insert(lower);
                return Ok(name);
            }
        }
        Ok(import.agent.name.clone())
    }

    async fn foretell_session(
        &mut self,
        source: &str,
        session: &SessionImport,
        done: &mut Given,
    ) -> Result<(), StoreError> {
        let again = self.looked_at.take().filter(|(id, _)| *id == session.external_id);
        let held = match again {
            Some((_, held)) => held,
            None => match self.store.session_of_origin(origin(source, &session.external_id)).await?
            {
                Some(known) => Held::Keys(self.keys(known.id).await?),
                None => {
                    let new = self.sessions.insert(session.external_id.clone());
                    done.sessions += u64::from(new);
                    Held::Nothing
                }
            },
        };
        let is_held = |key: &Option<String>| match (&held, key) {
            (Held::Keys(keys), Some(key)) => keys.contains(key),
            (Held::Nothing, _) | (_, None) => false,
        };
        let present = session.events.iter().filter(|event| is_held(&event.dedup_key)).count();
        done.present += present as u64;
        done.events += (session.events.len() - present) as u64;
        self.looked_at = Some((session.external_id.clone(), held));
        Ok(())
    }

    /// The keys of a session's events.
    async fn keys(&self, session: SessionId) -> Result<HashSet<String>, StoreError> {
        let mut keys = HashSet::new();
        let mut after = 0;
        loop {
            let query = EventQuery { after, limit: PageLimit::MAX, ..EventQuery::default() };
            let events: Vec<Event> = self.store.events(session.clone(), query).await?;
            let Some(last) = events.last() else {
                return Ok(keys);
            };
            after = last.seq;
            keys.extend(events.into_iter().filter_map(|event| event.dedup_key));
        }
    }
}

fn origin(source: &str, external_id: &str) -> Origin {
    Origin { source: source.to_owned(), external_id: external_id.to_owned() }
}

fn given(agent_id: Option<AgentId>, name: String, created: bool) -> Given {
    Given { agent_id, name: Some(name), created, ..Given::default() }
}
