use ah_store::block_on;

use super::LeaseArgs;
use crate::app::App;
use crate::error::CommandError;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lease: LeaseArgs,
    /// For how long from now, such as 60s
    #[arg(long = "for", value_name = "SPAN", default_value = "60s")]
    span: String,
}

/// The status that is printed says whether a stop is wanted.
pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let ms = when::span(&args.span)?;
    let run = block_on(app.store()?.renew_run(args.lease.lease()?, ms))?;
    app.output.result(&run, |run| run.status.to_string())
}
