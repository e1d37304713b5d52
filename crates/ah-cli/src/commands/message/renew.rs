use ah_store::block_on;

use super::HoldArgs;
use crate::app::App;
use crate::error::CommandError;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    hold: HoldArgs,
    /// How long from now on, such as 5m
    #[arg(long, value_name = "SPAN", default_value = "5m")]
    lease: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let hold = args.hold.hold(app, &*store)?;
    let message = block_on(store.renew_message(hold, when::span(&args.lease)?))?;
    app.output.result(&message, |message| {
        message.lease.as_ref().map(|lease| lease.expires_at.to_string()).unwrap_or_default()
    })
}
