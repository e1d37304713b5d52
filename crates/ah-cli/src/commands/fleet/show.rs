use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let fleet = block_on(store.fleet(app.session_id(&*store, &args.session)?))?;
    view::print(app, &*store, &fleet)
}
