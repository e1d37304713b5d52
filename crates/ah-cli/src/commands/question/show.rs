use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The question's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.question_id(&*store, &args.id)?;
    app.output.result(&block_on(store.question(id))?, view::question)
}
