use std::path::Path;

use ah_model::{Invalid, NewEvent, RawJson, limits};
use clap::ValueEnum;
use serde_json::json;

use super::append::to_active;
use super::{Expected, Named};
use crate::app::App;
use crate::commands::session::append::print;
use crate::error::CommandError;
use crate::input::read_text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// What is said; `-` reads it from stdin
    text: String,
    /// Who says it
    #[arg(long, value_enum, default_value_t = Speaker::User)]
    role: Speaker,
    /// The same key again is a success that changes nothing; keys hold within one session
    #[arg(long, value_name = "K")]
    dedup_key: Option<String>,
    #[command(flatten)]
    expected: Expected,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Speaker {
    /// Who the agent works for
    User,
    /// The model
    Assistant,
}

impl Speaker {
    fn event_type(self) -> &'static str {
        match self {
            Self::User => "user_message",
            Self::Assistant => "assistant_message",
        }
    }
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let event = event(args)?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let expected = args.expected.session(app, &*store)?;
    print(app, &to_active(&*store, &agent, expected.as_ref(), vec![event])?)
}

fn event(args: &Args) -> Result<NewEvent, CommandError> {
    let text = match args.text.as_str() {
        "-" => read_text("text", Path::new("-"), limits::EVENT_DATA_BYTES_MAX)?,
        text => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Invalid::new("text", "must not be empty").into());
    }
    let event = NewEvent {
        kind: args.role.event_type().to_owned(),
        data: RawJson::of(&json!({ "text": text }))?,
        dedup_key: args.dedup_key.clone(),
        ts: None,
    };
    event.check()?;
    Ok(event)
}
