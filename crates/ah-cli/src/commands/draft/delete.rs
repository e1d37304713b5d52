use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The draft's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.draft_id(&*store, &args.id)?;
    block_on(store.delete_draft(id.clone()))?;
    let gone = serde_json::json!({ "id": id, "deleted": true });
    app.output.result(&gone, |_| String::new())
}
