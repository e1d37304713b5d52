use std::path::PathBuf;

use ah_import::{HyperhiveOptions, import_hyperhive};
use ah_store::block_on;

use super::{HowArgs, report};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `broker.sqlite` of the host, and `hyperhive-events.sqlite` of agents
    #[arg(required = true)]
    file: Vec<PathBuf>,
    /// The agent kind that the agents become
    #[arg(long, value_name = "KIND[@VERSION]", default_value = "claude-code")]
    kind: String,
    /// A name for the hive, to keep its agents apart from those of other hives
    #[arg(long, value_name = "NAME")]
    hive: Option<String>,
    /// Whose live events they are, where the path `agents/<name>/state/` does not say it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    #[command(flatten)]
    how: HowArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let hive = HyperhiveOptions { hive: args.hive.clone(), agent: args.agent.clone() };
    let done = args.how.import(app, &args.kind, |store, options, progress| {
        block_on(import_hyperhive(store, &args.file, &hive, options, progress))
    })?;
    report::print_hive(app, &done, args.how.verbose)
}
