use std::path::PathBuf;

use ah_model::{NewEvent, RawJson, limits};
use ah_store::{Events, block_on};

use super::append_lines;
use crate::app::App;
use crate::error::CommandError;
use crate::input::read_text;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["kind", "stdin_jsonl"])))]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// What the event is
    #[arg(long = "type", value_name = "T")]
    kind: Option<String>,
    /// Its payload, any JSON; null when absent
    #[arg(long, value_name = "JSON", requires = "kind", conflicts_with = "data_file")]
    data: Option<String>,
    /// Read the payload from a file, or stdin for `-`
    #[arg(long, value_name = "FILE", requires = "kind")]
    data_file: Option<PathBuf>,
    /// The same key again is a success that changes nothing
    #[arg(long, value_name = "K", requires = "kind")]
    dedup_key: Option<String>,
    /// When it happened; now when absent
    #[arg(long, value_name = "TIME", requires = "kind")]
    ts: Option<String>,
    /// Read events from stdin, one a line: {"type", "data", "dedupKey"?, "ts"?}
    #[arg(long)]
    stdin_jsonl: bool,
    /// Stop at the first line that cannot be taken
    #[arg(long, requires = "stdin_jsonl")]
    strict: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let event = args.kind.as_ref().map(|kind| event(args, kind)).transpose()?;
    let store = app.store()?;
    let id = app.session_id(&store, &args.id)?;
    let Some(event) = event else {
        return append_lines::run(app, &store, &id, args.strict);
    };
    let done = block_on(store.append_events(id, vec![event]))?;
    app.output.result(&done, |done| match done.appended {
        0 => format!("{} (was there already)", done.first_seq),
        _ => done.first_seq.to_string(),
    })
}

fn event(args: &Args, kind: &str) -> Result<NewEvent, CommandError> {
    let text = match (&args.data, &args.data_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_text("data", file, limits::EVENT_DATA_BYTES_MAX)?,
        (None, None) => "null".to_owned(),
    };
    let event = NewEvent {
        kind: kind.to_owned(),
        data: RawJson::parse("data", &text, limits::EVENT_DATA_BYTES_MAX)?,
        dedup_key: args.dedup_key.clone(),
        ts: args.ts.as_deref().map(str::parse).transpose()?,
    };
    event.check()?;
    Ok(event)
}
