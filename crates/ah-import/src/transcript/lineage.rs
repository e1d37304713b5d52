//! Where the lines stand that a fork shares with the session it was forked from.

use std::collections::HashMap;

use ah_model::limits::FORK_DEPTH_MAX;
use ah_model::{EventQuery, Fork, PageLimit, Session};
use ah_store::{Store, StoreError};

use crate::unreadable::fingerprint;

/// The lines of a session and of those it was forked from, by their keys.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    /// Only fingerprints of the keys: a long session has many.
    places: HashMap<u64, Fork>,
}

impl Lineage {
    /// Reads the keys of `session` that `wanted` takes.
    pub(crate) async fn read(
        store: &dyn Store,
        session: &Session,
        wanted: impl Fn(&str) -> bool + Send,
    ) -> Result<Self, StoreError> {
        let mut lineage = Self::default();
        let mut next = Some((session.clone(), session.last_seq));
        for _ in 0..FORK_DEPTH_MAX {
            let Some((session, end)) = next else { break };
            lineage.add(store, &session, end, &wanted).await?;
            next = match session.forked_from {
                Some(fork) => Some((store.session(fork.session_id).await?, fork.at_seq)),
                None => None,
            };
        }
        Ok(lineage)
    }

    async fn add(
        &mut self,
        store: &dyn Store,
        session: &Session,
        end: u64,
        wanted: &(impl Fn(&str) -> bool + Send),
    ) -> Result<(), StoreError> {
        let mut after = 0;
        while after < end {
            let query = EventQuery {
                after,
                up_to: Some(end),
                limit: PageLimit::MAX,
                ..EventQuery::default()
            };
            let events = store.events(session.id.clone(), query).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                if let Some(key) = event.dedup_key.as_deref().filter(|key| wanted(key)) {
                    let place = Fork { session_id: session.id.clone(), at_seq: event.seq };
                    self.places.entry(fingerprint(key.as_bytes())).or_insert(place);
                }
            }
        }
        Ok(())
    }

    /// Where the line of that key stands.
    pub(crate) fn place(&self, key: &str) -> Option<&Fork> {
        if self.places.is_empty() {
            return None;
        }
        self.places.get(&fingerprint(key.as_bytes()))
    }
}
