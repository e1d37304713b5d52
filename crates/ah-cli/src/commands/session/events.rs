use ah_model::{Cursor, Event, EventQuery, Invalid, Order, PageLimit, SessionId};
use ah_store::{Events, Sessions, block_on};
use ah_store_sql::SqlStore;

use super::{follow, view};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::put;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Only events with a higher seq
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// Go on where `--limit` ended: its `nextCursor`
    #[arg(long, value_name = "CURSOR", conflicts_with = "after")]
    cursor: Option<String>,
    /// Only events of this type; may be given several times
    #[arg(long = "type", value_name = "T")]
    types: Vec<String>,
    /// How many at most; all when absent
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Only the newest N
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    last: Option<u32>,
    /// Wait for new ones, as `ah session follow` does
    #[arg(long, short, conflicts_with = "last")]
    follow: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&store, &args.id)?;
    if args.follow {
        return follow::print(app, &store, id, start(args)?, &args.types, args.limit);
    }
    let mut reader = Reader::new(&store, id, args)?;
    app.output.stream(|out| {
        let json = app.output.is_json();
        put(out, if json { "{\"items\":[" } else { "" })?;
        let mut first = true;
        while let Some(events) = reader.next()? {
            for event in events {
                let separator = if json && !first { "," } else { "" };
                first = false;
                put(out, &format!("{separator}{}", line(app, &event)?))?;
            }
        }
        if json {
            let cursor = serde_json::to_string(&reader.cursor()?).unwrap_or_default();
            put(out, &format!("],\"nextCursor\":{cursor}}}\n"))?;
        }
        Ok(())
    })
}

/// The seq after which to begin.
fn start(args: &Args) -> Result<u64, CommandError> {
    let Some(text) = &args.cursor else {
        return Ok(args.after);
    };
    match text.parse()? {
        Cursor::Number(seq) if seq >= 0 => Ok(seq.unsigned_abs()),
        Cursor::Number(_) | Cursor::Activity { .. } | Cursor::Text(_) => {
            Err(Invalid::new("cursor", format!("{text:?} is the cursor of another list")).into())
        }
    }
}

fn line(app: &App, event: &Event) -> Result<String, CommandError> {
    if app.output.is_json() {
        return serde_json::to_string(event)
            .map_err(|error| CommandError::new(Exit::Failed, error.to_string()));
    }
    Ok(view::event(event))
}

/// Pages through the log, so that memory does not grow with it.
struct Reader<'a> {
    store: &'a SqlStore,
    id: SessionId,
    query: EventQuery,
    /// How many may still be printed.
    left: u64,
}

impl<'a> Reader<'a> {
    fn new(store: &'a SqlStore, id: SessionId, args: &Args) -> Result<Self, CommandError> {
        let mut query = EventQuery {
            after: start(args)?,
            types: args.types.clone(),
            order: Order::Oldest,
            limit: PageLimit::MAX,
        };
        if let Some(last) = args.last {
            (query.order, query.limit) = (Order::Newest, PageLimit::new(last)?);
        }
        query.check()?;
        let left = args.last.map(u64::from).or(args.limit).unwrap_or(u64::MAX);
        Ok(Self { store, id, query, left })
    }

    fn next(&mut self) -> Result<Option<Vec<Event>>, CommandError> {
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

    /// Where to go on, if there is more.
    fn cursor(&self) -> Result<Option<Cursor>, CommandError> {
        let query = EventQuery { limit: PageLimit::at_most(1), ..self.query.clone() };
        let more = block_on(self.store.events(self.id.clone(), query))?;
        Ok((!more.is_empty()).then(|| Cursor::Number(self.query.after.cast_signed())))
    }
}
