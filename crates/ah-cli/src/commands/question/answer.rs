use ah_model::{Answer, Outcome};
use ah_store::block_on;

use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The question's id, or the beginning of it
    id: String,
    /// The answer; several when the question allows it
    #[arg(required = true, value_name = "ANSWER")]
    values: Vec<String>,
    /// Who answers: the agent that was asked; AH_AGENT when absent, else the operator
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let by = party::acting(app, args.by.as_deref())?;
    let answer = Answer { by, resolver: Some(party::label(app)), values: args.values.clone() };
    answer.check()?;
    let store = app.store()?;
    let id = app.question_id(&*store, &args.id)?;
    let question = block_on(store.answer_question(id, answer)).map_err(|error| {
        let id = &args.id;
        CommandError::from(error).hint(format!("`ah question show {id}` shows how it stands"))
    })?;
    app.output.result(&question, |question| question.outcome.to_string())?;
    if question.outcome == Outcome::Late {
        app.output.talk("the deadline had passed: the answer is kept as late");
    }
    Ok(())
}
