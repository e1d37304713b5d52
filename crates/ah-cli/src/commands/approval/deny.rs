use ah_model::{Party, Verdict};

use super::decide::decide;
use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The approval's id, or the beginning of it
    id: String,
    /// Why, for the agent
    #[arg(long, value_name = "WHY")]
    note: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    party::require_operator(app, "decide approvals")?;
    decide(app, &args.id, Verdict::Denied, Party::Operator, Some(args.note.clone()))
}
