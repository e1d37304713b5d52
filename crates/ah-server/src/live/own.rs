//! What of the feed is an agent's own.

use std::collections::HashMap;

use ah_model::{AgentId, ChangeKind, FeedEntry, Happening, Party, SessionId};
use ah_store::StoreError;

use crate::limits::OWN_SESSIONS_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

/// What concerns an agent: its sessions, as far as they were asked about, and its own name.
pub(crate) struct OwnSessions {
    agent: AgentId,
    party: Party,
    known: HashMap<SessionId, bool>,
}

impl OwnSessions {
    /// Of the agent with that id and name.
    pub(crate) fn of(agent: AgentId, party: Party) -> Self {
        Self { agent, party, known: HashMap::new() }
    }

    /// Whether the agent may see it, once it was [learnt](Self::learn). A session that is gone is
    /// nobody's, and executors are not an agent's matter.
    pub(crate) fn shows(&self, entry: &FeedEntry) -> bool {
        let change = match &entry.happening {
            Happening::Change(change) => Some(change),
            Happening::Event(_) => None,
        };
        let party = change.and_then(|change| change.party.as_ref());
        if party.is_some_and(|party| party.is(self.party.as_str())) || entry.happening.is_trimmed()
        {
            return true;
        }
        let gone = change.is_some_and(|change| change.kind == ChangeKind::SessionDeleted);
        let session = entry.happening.session_id();
        !gone && session.is_some_and(|id| self.known.get(id).copied().unwrap_or(false))
    }

    /// Asks the store about the sessions of `entries` that are not known, all at once.
    pub(crate) async fn learn<'a>(
        &mut self,
        state: &ServerState,
        entries: impl IntoIterator<Item = &'a FeedEntry> + Send,
    ) -> Result<(), Failure> {
        let asked = self.unknown(entries);
        if asked.is_empty() {
            return Ok(());
        }
        let agent = self.agent.clone();
        let found = state.call(move |store| async move {
            let mut found = Vec::new();
            for id in asked {
                let own = match store.session(id.clone()).await {
                    Ok(session) => session.of_agent.is_some_and(|of| of.id == agent),
                    Err(StoreError::NotFound { .. }) => false,
                    Err(error) => return Err(error),
                };
                found.push((id, own));
            }
            Ok(found)
        });
        self.known.extend(found.await?);
        Ok(())
    }

    /// The sessions to ask about. An id may come again for another session, so one that begins or
    /// ends is forgotten.
    fn unknown<'a>(&mut self, entries: impl IntoIterator<Item = &'a FeedEntry>) -> Vec<SessionId> {
        if self.known.len() >= OWN_SESSIONS_MAX {
            self.known.clear();
        }
        let mut asked = Vec::new();
        for entry in entries {
            let Some(id) = entry.happening.session_id() else { continue };
            if let Happening::Change(change) = &entry.happening
                && matches!(change.kind, ChangeKind::SessionCreated | ChangeKind::SessionDeleted)
            {
                self.known.remove(id);
            }
            if !self.known.contains_key(id) && !asked.contains(id) {
                asked.push(id.clone());
            }
        }
        asked
    }
}
