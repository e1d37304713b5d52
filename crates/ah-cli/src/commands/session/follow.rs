use ah_model::{Event, SessionId};
use ah_store::{Store, block_on};

use super::view;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Only events with a higher seq; all when absent
    #[arg(long, value_name = "SEQ", conflicts_with = "new")]
    after: Option<u64>,
    /// Only events appended from now on
    #[arg(long)]
    new: bool,
    /// Only events of this type; may be given several times
    #[arg(long = "type", value_name = "T")]
    types: Vec<String>,
    /// End after so many events
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let after = match args.new {
        true => block_on(store.session(id.clone()))?.last_seq,
        false => args.after.unwrap_or(0),
    };
    print(app, &*store, id, after, &args.types, args.limit)
}

/// Prints events after `after` as they come, until `limit` of them are printed.
pub(super) fn print(
    app: &App,
    store: &dyn Store,
    id: SessionId,
    after: u64,
    types: &[String],
    limit: Option<u64>,
) -> Result<(), CommandError> {
    let mut watch = block_on(store.watch_events(id, after))?;
    let mut left = limit.unwrap_or(u64::MAX);
    while left > 0 {
        let events = block_on(watch.next())?;
        let wanted = |event: &&Event| types.is_empty() || types.contains(&event.kind);
        for event in events.iter().filter(wanted).take(usize::try_from(left).unwrap_or(usize::MAX))
        {
            app.output.result(event, view::event)?;
            left -= 1;
        }
    }
    Ok(())
}
