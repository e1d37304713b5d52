//! Events.

use ah_model::{Appended, Event, EventQuery, NewEvent, SessionId};
use async_trait::async_trait;

use crate::StoreError;

/// The logs of sessions.
#[async_trait]
pub trait Events {
    /// Appends events in order, gap-free, and answers once they are durable.
    ///
    /// An event whose `dedup_key` the session has already is a success that changes nothing.
    /// A finished session still takes events: a late record is kept, not lost.
    async fn append_events(
        &self,
        session: SessionId,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError>;

    /// As [`append_events`](Self::append_events), but only behind the event `after`: a conflict
    /// that changes nothing when the session's newest seq is another.
    ///
    /// For a writer that continues a log it has read, so two of them never interleave.
    async fn append_events_after(
        &self,
        session: SessionId,
        after: u64,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError>;

    /// Events of a session in ascending order; a page may end early when its payloads are large,
    /// but is empty only when nothing matches.
    async fn events(&self, session: SessionId, query: EventQuery)
    -> Result<Vec<Event>, StoreError>;

    /// Follows a session from `after` on: first what is stored, then what is appended by anybody.
    async fn watch_events(
        &self,
        session: SessionId,
        after: u64,
    ) -> Result<Box<dyn EventWatch>, StoreError>;
}

/// A reader of a session's log that waits at its end. Slow readers lose nothing: they are served
/// from the store.
#[async_trait]
pub trait EventWatch: Send {
    /// The next events in order, at least one; waits until there are some. `NotFound` once the
    /// session is deleted.
    async fn next(&mut self) -> Result<Vec<Event>, StoreError>;
}
