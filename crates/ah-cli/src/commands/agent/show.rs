use super::{Named, view};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let agent = args.named.find(app, &*app.store()?)?;
    app.output.result(&agent, view::agent)
}
