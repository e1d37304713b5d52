use ah_model::{Exit, StatusChange};
use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// created, running, idle, stopping, succeeded, failed or cancelled
    status: String,
    /// Exit code of the agent's process, for a finished status
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
    /// The signal that ended it, for a finished status
    #[arg(long, value_name = "N")]
    signal: Option<i64>,
    /// Why it ended
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let exit = Exit { code: args.exit_code, signal: args.signal, reason: args.reason.clone() };
    let change = StatusChange { to: args.status.parse()?, exit };
    change.check()?;
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let session = block_on(store.set_session_status(id, change))?;
    app.output.result(&session, |session| session.status.to_string())
}
