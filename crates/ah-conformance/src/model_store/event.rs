//! Events in the oracle.

use std::sync::{Arc, Mutex};

use ah_model::{
    Appended, Event, EventQuery, NewEvent, Order, PageLimit, Redactions, SessionId, Timestamp,
    Usage, limits,
};
use ah_store::{EventWatch, Events, Kind, StoreError};
use async_trait::async_trait;
use tokio::sync::watch;

use super::{ModelStore, Rows};

#[async_trait]
impl Events for ModelStore {
    async fn append_events(
        &self,
        session: SessionId,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.write_once(|rows, door| {
            let done = rows.append_events(&session, events, door.now())?;
            Ok(Appended { redacted, ..done })
        })
    }

    async fn append_events_after(
        &self,
        session: SessionId,
        after: u64,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.write_once(|rows, door| {
            let end = rows.row(&session)?.last_seq;
            if end != after {
                let reason = format!("has {end} events, {after} were expected");
                return Err(StoreError::conflict(Kind::Session, &session, reason));
            }
            let done = rows.append_events(&session, events, door.now())?;
            Ok(Appended { redacted, ..done })
        })
    }

    async fn events(
        &self,
        session: SessionId,
        query: EventQuery,
    ) -> Result<Vec<Event>, StoreError> {
        query.check()?;
        self.read(|rows| rows.events(&session, &query))
    }

    async fn watch_events(
        &self,
        session: SessionId,
        after: u64,
    ) -> Result<Box<dyn EventWatch>, StoreError> {
        self.read(|rows| rows.row(&session).map(drop))?;
        Ok(Box::new(ModelWatch {
            rows: self.rows.clone(),
            writes: self.writes.subscribe(),
            session,
            after,
        }))
    }
}

impl Rows {
    pub(super) fn append_events(
        &mut self,
        id: &SessionId,
        events: Vec<NewEvent>,
        now: Timestamp,
    ) -> Result<Appended, StoreError> {
        self.row(id)?;
        let mut seqs = Vec::new();
        let mut appended = 0;
        for event in events {
            let (seq, is_new) = self.append_event(id, event, now);
            seqs.push(seq);
            appended += u64::from(is_new);
        }
        if appended > 0 {
            self.row_mut(id)?.touch(now);
        }
        Ok(Appended {
            session_id: id.clone(),
            first_seq: *seqs.iter().min().unwrap(),
            last_seq: *seqs.iter().max().unwrap(),
            appended,
            duplicates: seqs.len() as u64 - appended,
            redacted: Redactions::default(),
        })
    }

    /// The seq that holds the event, and whether it is new.
    pub(super) fn append_event(
        &mut self,
        id: &SessionId,
        new: NewEvent,
        now: Timestamp,
    ) -> (u64, bool) {
        let log = self.events.entry(id.clone()).or_default();
        let known =
            log.iter().find(|event| new.dedup_key.is_some() && event.dedup_key == new.dedup_key);
        if let Some(known) = known {
            return (known.seq, false);
        }
        self.spend(id, &new, new.ts.unwrap_or(now));
        let log = self.events.entry(id.clone()).or_default();
        let session = self.sessions.get_mut(id).unwrap();
        session.last_seq += 1;
        let usage = Usage::of_event(&new.data);
        session.usage = session.usage.plus(usage);
        if let Some(place) = &session.of_agent {
            let agent = self.agents.get_mut(&place.id).unwrap();
            agent.usage = agent.usage.plus(usage);
        }
        let event = Arc::new(Event {
            session_id: id.clone(),
            seq: session.last_seq,
            ts: new.ts.unwrap_or(now),
            kind: new.kind,
            data: new.data,
            dedup_key: new.dedup_key,
        });
        log.push(event.clone());
        self.happenings.event(event);
        (session.last_seq, true)
    }

    fn events(&self, id: &SessionId, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        self.row(id)?;
        let log = self.events.get(id).into_iter().flatten();
        let matching = log.filter(|event| {
            event.seq > query.after
                && query.up_to.is_none_or(|up_to| event.seq <= up_to)
                && (query.types.is_empty() || query.types.contains(&event.kind))
        });
        Ok(match query.order {
            Order::Oldest => cut_page(matching, query.limit),
            Order::Newest => {
                // The newest events fill the page, so a heavy one drops the oldest of it.
                let matching: Vec<_> = matching.collect();
                let mut page = cut_page(matching.into_iter().rev(), query.limit);
                page.reverse();
                page
            }
        })
    }
}

/// The first events, at most `limit` and [`limits::PAGE_BYTES_MAX`] of payload, at least one.
fn cut_page<'a>(events: impl Iterator<Item = &'a Arc<Event>>, limit: PageLimit) -> Vec<Event> {
    let mut bytes = 0;
    let fitting = events.enumerate().take_while(|(index, event)| {
        bytes += event.data.as_str().len();
        *index == 0 || bytes <= limits::PAGE_BYTES_MAX
    });
    fitting.take(limit.get()).map(|(_, event)| Event::clone(event)).collect()
}

struct ModelWatch {
    rows: Arc<Mutex<Rows>>,
    writes: watch::Receiver<u64>,
    session: SessionId,
    after: u64,
}

#[async_trait]
impl EventWatch for ModelWatch {
    async fn next(&mut self) -> Result<Vec<Event>, StoreError> {
        loop {
            // Marked as seen before the read, so a write between read and wait wakes us.
            self.writes.mark_unchanged();
            let query =
                EventQuery { after: self.after, limit: PageLimit::MAX, ..EventQuery::default() };
            let events = self.rows.lock().unwrap().events(&self.session, &query)?;
            if let Some(last) = events.last() {
                self.after = last.seq;
                return Ok(events);
            }
            self.writes
                .changed()
                .await
                .map_err(|closed| StoreError::backend("follow a closed store", closed))?;
        }
    }
}
