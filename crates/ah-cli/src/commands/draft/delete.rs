use ah_store::{Drafts, block_on};

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The draft's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    block_on(app.store()?.delete_draft(args.id.parse()?))?;
    let gone = serde_json::json!({ "id": args.id, "deleted": true });
    app.output.result(&gone, |_| String::new())
}
