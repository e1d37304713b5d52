use ah_model::{MessageStatus, Release};
use ah_store::block_on;

use super::HoldArgs;
use crate::app::App;
use crate::error::CommandError;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    hold: HoldArgs,
    /// Nobody gets it before so long has passed, such as 30s
    #[arg(long, value_name = "SPAN", default_value = "0s")]
    delay: String,
    /// Why it was not handled
    #[arg(long, value_name = "WHY")]
    note: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let hold = args.hold.hold(app, &*store)?;
    let (delay_ms, note) = (when::span(&args.delay)?, args.note.clone());
    let release = Release { hold, delay_ms, note, counts: true };
    release.check()?;
    let message = block_on(store.release_message(release))?;
    app.output.result(&message, |message| match message.status {
        MessageStatus::Dead => format!("given up after {} tries", message.attempts),
        _ => format!("queued again after {} tries", message.attempts),
    })
}
