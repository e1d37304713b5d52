use std::ops::ControlFlow;

use ah_model::{Cursor, EventQuery, Invalid, PageLimit, Session};
use ah_store::{Store, block_on};

use super::{Named, active_session, each_session, view};
use crate::app::App;
use crate::commands::session::log::{self, Listing, Reader};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// Of every session, in the order they began; of the active one when absent
    #[arg(long)]
    all: bool,
    /// Go on where `--limit` ended: its `nextCursor`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Only events of this type; may be given several times
    #[arg(long = "type", value_name = "T")]
    types: Vec<String>,
    /// How many at most; all when absent
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let start = args.cursor.as_deref().map(Place::parse).transpose()?;
    log::list(app, |listing| {
        let mut history = History {
            store: &*store,
            args,
            start: start.unwrap_or_default(),
            left: args.limit.unwrap_or(u64::MAX),
            end: None,
            listing,
        };
        if args.all || start.is_some() {
            each_session(&*store, &agent, |session| history.session(session))?;
        } else {
            // The sessions before it may be many, and are not asked for.
            let active = block_on(store.session(active_session(&agent)?))?;
            let _ = history.session(&active)?;
        }
        Ok(history.end.map(Place::cursor))
    })
}

/// Prints the events of one session after another, from `start` on.
struct History<'a, 'b> {
    store: &'a dyn Store,
    args: &'a Args,
    start: Place,
    /// How many may still be printed.
    left: u64,
    /// Where to go on, once it is known that there is more.
    end: Option<Place>,
    listing: &'a mut Listing<'b>,
}

impl<'a> History<'a, '_> {
    /// Prints what is wanted of `session`; ends when nothing is wanted of those behind it.
    fn session(&mut self, session: &Session) -> Result<ControlFlow<()>, CommandError> {
        let number = view::number(session);
        if number < self.start.number {
            return Ok(ControlFlow::Continue(()));
        }
        let mut reader = self.reader(session)?;
        if self.left > 0 {
            if self.args.all {
                self.listing.heading(&view::session_heading(session))?;
            }
            self.listing.events(&mut reader)?;
            self.left = reader.left();
        }
        self.end = reader.rest()?.map(|seq| Place { number, seq });
        // Also once the limit is reached: a session behind this one may have more.
        let on = self.args.all && self.end.is_none();
        Ok(if on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }

    fn reader(&self, session: &Session) -> Result<Reader<'a>, CommandError> {
        let begun = view::number(session) == self.start.number;
        let query = EventQuery {
            after: if begun { self.start.seq } else { 0 },
            types: self.args.types.clone(),
            limit: PageLimit::MAX,
            ..EventQuery::default()
        };
        Reader::new(self.store, session.id.clone(), query, self.left)
    }
}

/// A point in the history of an agent: a session by its number, and an event of it.
#[derive(Clone, Copy, Default)]
struct Place {
    number: u64,
    seq: u64,
}

impl Place {
    fn parse(text: &str) -> Result<Self, Invalid> {
        let place = match text.parse()? {
            Cursor::Text(place) => place,
            Cursor::Number(_) | Cursor::Activity { .. } => String::new(),
        };
        let parts = place.split_once(':').map(|(number, seq)| (number.parse(), seq.parse()));
        match parts {
            Some((Ok(number), Ok(seq))) => Ok(Self { number, seq }),
            _ => Err(Invalid::new("cursor", format!("{text:?} is the cursor of another list"))),
        }
    }

    fn cursor(self) -> Cursor {
        Cursor::Text(format!("{}:{}", self.number, self.seq))
    }
}
