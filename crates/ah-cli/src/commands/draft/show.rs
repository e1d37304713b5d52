use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;
use crate::output::{fields, printable_lines};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The draft's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let draft = block_on(store.draft(app.draft_id(&*store, &args.id)?))?;
    app.output.result(&draft, |draft| {
        let head = fields(&[
            ("id", draft.id.to_string()),
            ("repository", draft.fields.repository.clone()),
            ("branch", draft.fields.branch.clone().unwrap_or_default()),
            ("agents", draft.fields.models.join(" ")),
            ("saved", draft.updated_at.to_string()),
        ]);
        format!("{head}\n{}", printable_lines(&draft.fields.description))
    })
}
