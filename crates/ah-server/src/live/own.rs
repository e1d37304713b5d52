//! What of the feed is an agent's own.

use std::collections::HashMap;

use ah_model::{AgentId, ChangeKind, FeedEntry, Happening, SessionId};
use ah_store::StoreError;

use crate::limits::OWN_SESSIONS_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

/// The sessions of an agent, as far as they were asked about.
pub(crate) struct OwnSessions {
    agent: AgentId,
    known: HashMap<SessionId, bool>,
}

impl OwnSessions {
    pub(crate) fn of(agent: AgentId) -> Self {
        Self { agent, known: HashMap::new() }
    }

    /// Whether the agent may see it, once it was [learnt](Self::learn). A session that is gone is
    /// nobody's, and executors are not an agent's matter.
    pub(crate) fn shows(&self, entry: &FeedEntry) -> bool {
        let gone = matches!(&entry.happening,
            Happening::Change(change) if change.kind == ChangeKind::SessionDeleted);
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
