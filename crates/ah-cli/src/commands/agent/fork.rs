use ah_model::{Beginning, Renewal};

use super::{Named, renew, session_of};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// The session of the agent it goes on from; the active one when absent
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The event of that session it goes on from; the newest when absent
    #[arg(long, alias = "at-seq", value_name = "SEQ")]
    at: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let named = args.session.as_deref();
    let session = named.map(|id| session_of(app, &*store, &agent, Some(id))).transpose()?;
    renew(app, &*store, agent, Renewal::new(Beginning::Fork { session, at_seq: args.at }))
}
