//! Following a log: read what is stored, wait to be woken, read again.

use ah_model::{Event, EventQuery, PageLimit, SessionId};
use ah_store::{EventWatch, Events, StoreError};
use async_trait::async_trait;
use tokio::sync::watch;

use crate::SqlStore;

pub(crate) struct SqlWatch {
    store: SqlStore,
    session: SessionId,
    after: u64,
    changes: watch::Receiver<u64>,
}

impl SqlWatch {
    pub(crate) fn new(store: SqlStore, session: SessionId, after: u64) -> Result<Self, StoreError> {
        let changes = store.subscribe()?;
        Ok(Self { store, session, after, changes })
    }
}

#[async_trait]
impl EventWatch for SqlWatch {
    async fn next(&mut self) -> Result<Vec<Event>, StoreError> {
        loop {
            // Marked as seen before the read: a commit during it wakes the next round.
            self.changes.borrow_and_update();
            let query =
                EventQuery { after: self.after, limit: PageLimit::MAX, ..EventQuery::default() };
            let events = self.store.events(self.session.clone(), query).await?;
            if let Some(last) = events.last() {
                self.after = last.seq;
                return Ok(events);
            }
            self.changes
                .changed()
                .await
                .map_err(|_| StoreError::backend("watch events", "the store was closed"))?;
        }
    }
}
