use std::path::PathBuf;

use ah_model::{Appended, NewEvent, RawJson, Redactions, limits};
use ah_store::block_on;

use super::append_lines;
use crate::app::App;
use crate::error::CommandError;
use crate::input::text_or_file;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    #[command(flatten)]
    what: EventArgs,
}

/// One event by flags, or many from stdin.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["kind", "stdin_jsonl"])))]
pub(crate) struct EventArgs {
    /// What the event is
    #[arg(long = "type", value_name = "T")]
    kind: Option<String>,
    /// Its payload, any JSON; null when absent
    #[arg(long, value_name = "JSON", conflicts_with_all = ["stdin_jsonl", "data_file"])]
    data: Option<String>,
    /// Read the payload from a file, or stdin for `-`
    #[arg(long, value_name = "FILE", conflicts_with = "stdin_jsonl")]
    data_file: Option<PathBuf>,
    /// The same key again is a success that changes nothing; keys hold within one session
    #[arg(long, value_name = "K", conflicts_with = "stdin_jsonl")]
    dedup_key: Option<String>,
    /// When it happened; now when absent
    #[arg(long, value_name = "TIME", conflicts_with = "stdin_jsonl")]
    ts: Option<String>,
    /// Read events from stdin, one a line: {"type", "data", "dedupKey"?, "ts"?}
    #[arg(long)]
    stdin_jsonl: bool,
    /// Stop at the first line that cannot be taken
    #[arg(long, conflicts_with = "kind")]
    strict: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let event = args.what.event()?;
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    args.what.append(app, event, |events| Ok(block_on(store.append_events(id.clone(), events))?))
}

impl EventArgs {
    /// The event that the flags describe; nothing when lines are to be read instead.
    pub(crate) fn event(&self) -> Result<Option<NewEvent>, CommandError> {
        let Some(kind) = &self.kind else {
            return Ok(None);
        };
        let (data, file) = (self.data.as_deref(), self.data_file.as_deref());
        let text = text_or_file("data", data, file, limits::EVENT_DATA_BYTES_MAX)?;
        let text = text.as_deref().unwrap_or("null");
        let event = NewEvent {
            kind: kind.clone(),
            data: RawJson::parse("data", text, limits::EVENT_DATA_BYTES_MAX)?,
            dedup_key: self.dedup_key.clone(),
            ts: self.ts.as_deref().map(str::parse).transpose()?,
        };
        event.check()?;
        Ok(Some(event))
    }

    /// Hands `event`, or else the lines of stdin, to `append` and prints what it answers.
    pub(crate) fn append(
        &self,
        app: &App,
        event: Option<NewEvent>,
        append: impl Fn(Vec<NewEvent>) -> Result<Appended, CommandError>,
    ) -> Result<(), CommandError> {
        match event {
            Some(event) => print(app, &append(vec![event])?),
            None => append_lines::run(app, self.strict, &append),
        }
    }
}

/// Prints the answer to an append of one event.
pub(crate) fn print(app: &App, done: &Appended) -> Result<(), CommandError> {
    app.output.result(done, |done| match done.appended {
        0 => format!("{} (was there already)", done.first_seq),
        _ => done.first_seq.to_string(),
    })?;
    say_redacted(app, &done.redacted);
    Ok(())
}

/// Says what was not kept.
pub(crate) fn say_redacted(app: &App, redacted: &Redactions) {
    if !redacted.is_empty() && !app.output.is_json() {
        app.output.talk(&format!("secrets taken out: {redacted}"));
    }
}
