use ah_store::{Drafts, block_on};

use crate::app::App;
use crate::commands::paging::{Paging, print};
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
    let page = block_on(app.store()?.list_drafts(args.paging.request()?))?;
    let now = app.now();
    let empty = "no drafts; `ah draft save` begins one";
    print(app, &page, &["ID", "SAVED", "REPOSITORY", "PROMPT"], empty, |draft| {
        let first = draft.fields.description.lines().next().unwrap_or_default();
        vec![
            draft.id.to_string(),
            ago(draft.updated_at, now),
            printable(&draft.fields.repository),
            printable(&first.chars().take(PROMPT_CHARS).collect::<String>()),
        ]
    })
}
