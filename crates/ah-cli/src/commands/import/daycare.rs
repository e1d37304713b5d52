use std::path::PathBuf;

use ah_import::import_daycare;
use ah_store::block_on;

use super::AgentsArgs;
use crate::app::App;
use crate::error::CommandError;

/// Where Daycare keeps its data, below the home directory.
const DIRECTORY: &str = ".daycare";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Daycare's data directory; `~/.daycare` when absent
    dir: Option<PathBuf>,
    #[command(flatten)]
    agents: AgentsArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => app.environment.home()?.join(DIRECTORY),
    };
    args.agents.import(app, |store, options, progress| {
        block_on(import_daycare(store, &dir, options, progress))
    })
}
