use std::path::PathBuf;

use ah_import::import_coordinator;
use ah_store::block_on;

use super::{HowArgs, report};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The database file, as a rule `.agent-orchestrator/observability.db`
    file: PathBuf,
    /// The agent kind of sessions that name no agent
    #[arg(long, value_name = "KIND[@VERSION]", default_value = "agent-coordinator")]
    kind: String,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let done = args.how.import(app, &args.kind, |store, options, progress| {
        block_on(import_coordinator(store, &args.file, options, progress))
    })?;
    report::print_sessions(app, &done, args.how.verbose)
}
