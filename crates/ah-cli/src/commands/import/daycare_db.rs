use std::path::PathBuf;

use ah_import::import_daycare_db;
use ah_store::block_on;

use super::AgentsArgs;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The database file, as a rule `daycare.db` in Daycare's data directory
    file: PathBuf,
    #[command(flatten)]
    agents: AgentsArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    args.agents.import(app, |store, options, progress| {
        block_on(import_daycare_db(store, &args.file, options, progress))
    })
}
