use ah_store::{Agents, block_on};

use super::Named;
use crate::app::App;
use crate::commands::session::append::EventArgs;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    what: EventArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let event = args.what.event()?;
    let store = app.store()?;
    let id = args.named.find(app, &store)?.id;
    // Each batch goes to the session that is active then: a reset in between is followed.
    args.what.append(app, event, |events| block_on(store.append_to_agent(id.clone(), events)))
}
