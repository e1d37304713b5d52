use ah_store::block_on;

use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The question's id, or the beginning of it
    id: String,
    /// Who takes it back: the agent that asked; AH_AGENT when absent, else the operator
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let by = party::acting(app, args.by.as_deref())?;
    let store = app.store()?;
    let id = app.question_id(&*store, &args.id)?;
    let question = block_on(store.withdraw_question(id, by))?;
    app.output.result(&question, |question| question.outcome.to_string())
}
