use ah_model::{Cursor, EventQuery, Invalid, Order, PageLimit, SessionId};
use ah_store::Store;

use super::log::Reader;
use super::{follow, log};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Only events with a higher seq
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
    /// Only events up to this seq, itself included
    #[arg(long, value_name = "SEQ", conflicts_with = "follow")]
    up_to: Option<u64>,
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
    let id = app.session_id(&*store, &args.id)?;
    if args.follow {
        return follow::print(app, &*store, id, start(args)?, &args.types, args.limit);
    }
    let mut reader = reader(&*store, id, args)?;
    log::list(app, |listing| {
        listing.events(&mut reader)?;
        Ok(reader.rest()?.map(|seq| Cursor::Number(seq.cast_signed())))
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

fn reader<'a>(
    store: &'a dyn Store,
    id: SessionId,
    args: &Args,
) -> Result<Reader<'a>, CommandError> {
    let mut query = EventQuery {
        after: start(args)?,
        up_to: args.up_to,
        types: args.types.clone(),
        order: Order::Oldest,
        limit: PageLimit::MAX,
    };
    if let Some(last) = args.last {
        (query.order, query.limit) = (Order::Newest, PageLimit::new(last)?);
    }
    let limit = args.last.map(u64::from).or(args.limit).unwrap_or(u64::MAX);
    Reader::new(store, id, query, limit)
}
