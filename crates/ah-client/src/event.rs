//! Events.

use ah_model::{Appended, Event, EventQuery, NewEvent, Session, SessionId};
use ah_store::{EventWatch, Events, StoreError};
use async_trait::async_trait;
use serde::Serialize;
use ureq::http::Method;

use crate::RestStore;
use crate::session::{session_of, session_target};
use crate::watch::RestWatch;

#[derive(Serialize)]
struct Append<'a> {
    events: &'a [NewEvent],
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
}

impl RestStore {
    fn append(
        &self,
        session: &SessionId,
        after: Option<u64>,
        events: &[NewEvent],
    ) -> Result<Appended, StoreError> {
        // What no store takes may be more than a server reads, and then it could not say why.
        NewEvent::check_batch(events)?;
        let target = session_target(session, "events");
        self.create(Method::POST, &target, &Append { events, after })
    }
}

#[async_trait]
impl Events for RestStore {
    async fn append_events(
        &self,
        session: SessionId,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        self.append(&session, None, &events)
    }

    async fn append_events_after(
        &self,
        session: SessionId,
        after: u64,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        self.append(&session, Some(after), &events)
    }

    async fn events(
        &self,
        session: SessionId,
        query: EventQuery,
    ) -> Result<Vec<Event>, StoreError> {
        self.http.items(session_target(&session, "events").query(&query))
    }

    async fn watch_events(
        &self,
        session: SessionId,
        after: u64,
    ) -> Result<Box<dyn EventWatch>, StoreError> {
        // A session that is not there is said now, not when its first event is due.
        self.http.get::<Session>(&session_of(&session))?;
        Ok(Box::new(RestWatch::new(self.http.clone(), session, after)))
    }
}
