use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// No longer keep it
    #[arg(long)]
    off: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let session = block_on(store.pin_session(id, !args.off))?;
    app.output.result(&session, |_| String::new())
}
