//! Logs read page by page and printed while they are read, so that memory does not grow with them.

use std::io::Write;

use ah_model::{Cursor, Event, EventQuery, Order, PageLimit, SessionId};
use ah_store::{Store, block_on};

use super::view;
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::put;

/// Pages through the log of one session.
pub(crate) struct Reader<'a> {
    store: &'a dyn Store,
    id: SessionId,
    query: EventQuery,
    /// How many may still be read.
    left: u64,
}

impl<'a> Reader<'a> {
    /// Reads what `query` says, at most `limit` events.
    pub(crate) fn new(
        store: &'a dyn Store,
        id: SessionId,
        query: EventQuery,
        limit: u64,
    ) -> Result<Self, CommandError> {
        query.check()?;
        Ok(Self { store, id, query, left: limit })
    }

    /// The next events, or nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Event>>, CommandError> {
        if self.left == 0 {
            // Asked for nothing: an unknown session is still an error.
            block_on(self.store.session(self.id.clone()))?;
            return Ok(None);
        }
        if self.query.order == Order::Oldest {
            self.query.limit = PageLimit::at_most(self.left);
        }
        let events = block_on(self.store.events(self.id.clone(), self.query.clone()))?;
        let Some(last) = events.last() else {
            return Ok(None);
        };
        self.query.after = last.seq;
        self.left = match self.query.order {
            Order::Oldest => self.left - events.len() as u64,
            Order::Newest => 0,
        };
        Ok(Some(events))
    }

    /// How many more may be read than were.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The seq of the last event read, if there are more behind it than might be read.
    pub(crate) fn rest(&self) -> Result<Option<u64>, CommandError> {
        if self.left > 0 {
            return Ok(None);
        }
        let query = EventQuery { limit: PageLimit::at_most(1), ..self.query.clone() };
        let more = block_on(self.store.events(self.id.clone(), query))?;
        Ok((!more.is_empty()).then_some(self.query.after))
    }
}

/// Prints the events that `print` chooses. It answers where the list would go on, and people are
/// told.
pub(crate) fn list(
    app: &App,
    print: impl FnOnce(&mut Listing<'_>) -> Result<Option<Cursor>, CommandError>,
) -> Result<(), CommandError> {
    let next = app.output.stream(|out| {
        let mut listing = Listing::begin(app, out)?;
        let next = print(&mut listing)?;
        listing.end(next.as_ref())?;
        Ok(next)
    })?;
    if let Some(cursor) = next.filter(|_| !app.output.is_json()) {
        app.output.talk(&format!("more: go on with --cursor {cursor}, or leave --limit out"));
    }
    Ok(())
}

/// Prints events: `{items, nextCursor}` as JSON, a line each for people.
pub(crate) struct Listing<'a> {
    json: bool,
    separator: &'static str,
    out: &'a mut dyn Write,
}

impl<'a> Listing<'a> {
    fn begin(app: &App, out: &'a mut dyn Write) -> Result<Self, CommandError> {
        let json = app.output.is_json();
        put(out, if json { "{\"items\":[" } else { "" })?;
        Ok(Self { json, separator: "", out })
    }

    /// Prints what `reader` has.
    pub(crate) fn events(&mut self, reader: &mut Reader<'_>) -> Result<(), CommandError> {
        while let Some(events) = reader.next()? {
            events.iter().try_for_each(|event| self.event(event))?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event) -> Result<(), CommandError> {
        if !self.json {
            return put(self.out, &view::event(event));
        }
        let line = serde_json::to_string(event)
            .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))?;
        put(self.out, std::mem::replace(&mut self.separator, ","))?;
        put(self.out, &line)
    }

    /// Prints a line for people between events.
    pub(crate) fn heading(&mut self, text: &str) -> Result<(), CommandError> {
        put(self.out, if self.json { "" } else { text })
    }

    /// Ends the list; `cursor` says where it would go on.
    fn end(self, cursor: Option<&Cursor>) -> Result<(), CommandError> {
        if !self.json {
            return Ok(());
        }
        let cursor = serde_json::to_string(&cursor).unwrap_or_default();
        put(self.out, &format!("],\"nextCursor\":{cursor}}}\n"))
    }
}
