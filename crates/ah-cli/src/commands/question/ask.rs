use std::path::Path;
use std::sync::Arc;

use ah_model::{Awaited, NewQuestion, Outcome, Question, QuestionId, QuestionStatus, limits};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::commands::{party, waiting};
use crate::error::{CommandError, Exit};
use crate::input::read_text;
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to ask; `-` reads it from stdin
    text: String,
    /// Who asks: an agent's name; AH_AGENT when absent, else the operator
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Who is asked: an agent's name or `operator`
    #[arg(long, value_name = "AGENT", default_value = "operator")]
    to: String,
    /// An answer to choose from; may be given several times
    #[arg(long = "option", value_name = "O")]
    options: Vec<String>,
    /// Several options may be chosen
    #[arg(long)]
    multi: bool,
    /// An answer may also be something else than the options
    #[arg(long)]
    free_text: bool,
    /// How long there is to answer, such as 10m; for ever when absent
    #[arg(long, value_name = "SPAN")]
    ttl: Option<String>,
    /// Wait for the answer and print it; exit 4 when none comes in time
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let new = wanted(app, args)?;
    new.check().map_err(|invalid| {
        let hint = match &*invalid.field {
            "to" => Some("`--from AGENT` says which agent asks"),
            "ttlMs" => Some("`--ttl 10m` gives ten minutes; without it there is no deadline"),
            _ => None,
        };
        let error = CommandError::from(invalid);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    })?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let question = block_on(store.ask_question(new))?;
    if !args.wait {
        return app.output.result(&question, |question| question.id.to_string());
    }
    let id = question.id;
    app.output.talk(&format!("asked {id}; `ah question answer {id} ANSWER` answers it"));
    report(app, &resolved(&store, &id)?)
}

fn wanted(app: &App, args: &Args) -> Result<NewQuestion, CommandError> {
    let text = match args.text.as_str() {
        "-" => read_text("text", Path::new("-"), limits::PROMPT_BYTES_MAX)?,
        text => text.to_owned(),
    };
    let from = party::acting(app, args.from.as_deref())?;
    Ok(NewQuestion {
        options: args.options.clone(),
        multi: args.multi,
        free_text: args.free_text,
        ttl_ms: args.ttl.as_deref().map(when::span).transpose()?,
        ..NewQuestion::new(from, args.to.parse()?, text)
    })
}

/// Waits until the question is answered, has expired or was withdrawn.
fn resolved(store: &Arc<dyn Store>, id: &QuestionId) -> Result<Question, CommandError> {
    let look = || {
        let question = block_on(store.question(id.clone()))?;
        Ok(Some(question).filter(|question| question.status != QuestionStatus::Open))
    };
    match waiting::until(store, Awaited::Question(id.clone()), None, look)? {
        Some(question) => Ok(question),
        None => Ok(block_on(store.question(id.clone()))?),
    }
}

/// Prints the answer, or the whole question for programs; no answer in time is also an error.
fn report(app: &App, question: &Question) -> Result<(), CommandError> {
    let answer = |question: &Question| {
        question.answer.as_ref().map_or(String::new(), |given| given.values.join("\n"))
    };
    app.output.result(question, answer)?;
    let Question { id, outcome, .. } = question;
    let reason = match outcome {
        Outcome::Answered | Outcome::Open => return Ok(()),
        Outcome::Expired | Outcome::Late => "nobody answered in time",
        Outcome::Withdrawn => "it was withdrawn",
    };
    Err(CommandError::new(Exit::Conflict, format!("question {id}: {reason}"))
        .hint(format!("a late answer is kept: `ah question show {id}`")))
}
