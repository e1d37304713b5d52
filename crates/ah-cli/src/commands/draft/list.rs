use ah_model::{Draft, Timestamp};
use ah_store::block_on;

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;
use crate::when::ago;

const PROMPT_CHARS: usize = 60;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let look = Look {
        header: &["ID", "SAVED", "REPOSITORY", "PROMPT"],
        empty: "no drafts; `ah draft save` begins one",
        row: &|draft| row(draft, now),
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_drafts(page))?))
}

fn row(draft: &Draft, now: Timestamp) -> Vec<String> {
    let first = draft.fields.description.lines().next().unwrap_or_default();
    vec![
        draft.id.to_string(),
        ago(draft.updated_at, now),
        printable(&draft.fields.repository),
        printable(&first.chars().take(PROMPT_CHARS).collect::<String>()),
    ]
}
