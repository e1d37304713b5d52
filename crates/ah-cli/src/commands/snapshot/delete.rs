use super::scene::{OneArgs, short};
use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    one: OneArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let (found, _, scene) = args.one.find(app, &*store)?;
    let found = found.snapshot;
    if !args.yes {
        confirm(app.asking(), &format!("remove snapshot {}?", short(&found)))?;
    }
    scene.keeper(&found).delete(&scene.directory, &found)?;
    app.output.result(&found, |found| short(found).to_owned())
}
