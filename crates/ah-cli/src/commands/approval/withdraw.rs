use ah_model::Verdict;

use super::decide::decide;
use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The approval's id, or the beginning of it
    id: String,
    /// Who takes it back: the agent it is about; AH_AGENT when absent, else the operator
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
    /// Why
    #[arg(long, value_name = "WHY")]
    note: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let by = party::acting(app, args.by.as_deref())?;
    decide(app, &args.id, Verdict::Withdrawn, by, args.note.clone())
}
