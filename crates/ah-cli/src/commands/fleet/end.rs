use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let fleet = block_on(store.end_fleet(app.session_id(&*store, &args.session)?))?;
    app.output.result(&fleet, |fleet| {
        format!("the fleet of session {} is ended; its executors are let go", fleet.session_id)
    })
}
