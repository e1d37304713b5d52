use ah_model::Lifecycle;

use super::{Named, lifecycle};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    lifecycle::set(app, &*store, agent, Lifecycle::Sleeping)
}
