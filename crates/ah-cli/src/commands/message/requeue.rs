use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.message_id(&*store, &args.id)?;
    let message = block_on(store.requeue_message(id)).map_err(|error| {
        CommandError::from(error).hint("`ah message dead` lists those that were given up")
    })?;
    app.output.result(&message, |message| format!("{} is queued again", message.id))
}
