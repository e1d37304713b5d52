use ah_store::block_on;

use super::LeaseArgs;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lease: LeaseArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let run = block_on(app.store()?.start_run(args.lease.lease()?))?;
    app.output.result(&run, |run| run.status.to_string())
}
