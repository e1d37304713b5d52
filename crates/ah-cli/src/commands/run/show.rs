use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::local;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let run = block_on(app.store()?.run(args.id.parse()?))?;
    app.output.result(&run, view::run)
}
