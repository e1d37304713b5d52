use ah_model::{Executor, Timestamp};
use ah_store::block_on;

use super::state;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;
use crate::when::ago;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

const HEADER: &[&str] = &["ID", "STATE", "SEEN", "HOST", "PROFILE", "TAGS"];

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let empty = "no executors have registered";
    let look = Look { header: HEADER, empty, row: &|executor| row(executor, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_executors(page))?))
}

fn row(executor: &Executor, now: Timestamp) -> Vec<String> {
    let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
    vec![
        executor.id.to_string(),
        state(executor, now).to_owned(),
        ago(executor.seen_at, now),
        text(&executor.offer.hostname),
        text(&executor.offer.executor_profile),
        printable(&executor.offer.tags.join(" ")),
    ]
}
