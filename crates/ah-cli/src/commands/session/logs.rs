use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::time::Duration;

use ah_model::{Run, SessionId};
use ah_store::{Store, block_on};
use serde_json::Value;

use crate::app::App;
use crate::commands::local;
use crate::error::{CommandError, Exit};
use crate::output::Stream;

/// How often a log that is followed is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Most that is read of a log at once.
const PIECE_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Wait for more until the agent has ended
    #[arg(long, short)]
    follow: bool,
    /// All bytes as they were written, also of what is not text for people
    #[arg(long)]
    raw: bool,
    /// This run; the newest when absent
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let id = app.session_id(&*store, &args.id)?;
    let run = match &args.run {
        Some(run) => block_on(store.run(run.parse()?))?,
        None => newest(&*store, &id)?,
    };
    let form = if args.raw { Form::Raw } else { readable_form(app, &run)? };
    let follow = if args.follow { Follow::UntilItEnds } else { Follow::No };
    print(app, &*store, &run, form, follow)
}

/// What of a log is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Every byte.
    Raw,
    /// Every line.
    Lines,
    /// What people read of the records of a tool.
    Records,
}

/// How people read what the program of `run` writes.
pub(super) fn readable_form(app: &App, run: &Run) -> Result<Form, CommandError> {
    let folder = local::folder_of(app, &run.id)?;
    Ok(if folder.is_structured() { Form::Records } else { Form::Lines })
}

/// Whether more is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    No,
    UntilItEnds,
}

/// The newest run of a session.
pub(super) fn newest(store: &dyn Store, id: &SessionId) -> Result<Run, CommandError> {
    let runs = block_on(store.session_runs(id.clone()))?;
    runs.into_iter().next_back().ok_or_else(|| {
        CommandError::new(Exit::NotFound, format!("session {id} was never run by `ah`"))
            .hint(format!("`ah session events {id}` prints what is known of it"))
    })
}

/// Prints the log of a run of this machine.
pub(super) fn print(
    app: &App,
    store: &dyn Store,
    run: &Run,
    form: Form,
    follow: Follow,
) -> Result<(), CommandError> {
    let path = local::folder_of(app, &run.id)?.log();
    let is_over = || -> Result<bool, CommandError> {
        let now = block_on(store.run(run.id.clone()))?;
        Ok(!now.status.is_live())
    };
    let mut over = follow == Follow::No;
    let file = loop {
        match File::open(&path) {
            Ok(file) => break file,
            Err(_) if !over => over = is_over()?,
            Err(error) => return Err(elsewhere(run, &error)),
        }
        std::thread::sleep(LOOK);
    };
    let mut log = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        let read = log.by_ref().take(PIECE_BYTES_MAX).read_until(b'\n', &mut line);
        if line.ends_with(b"\n") || line.len() as u64 >= PIECE_BYTES_MAX {
            show(app, form, &line)?;
            line.clear();
        } else if read.unwrap_or(0) == 0 {
            if over {
                return if line.is_empty() { Ok(()) } else { show(app, form, &line) };
            }
            // Looked at before the last lines are read, so that none is missed.
            over = is_over()?;
            if !over {
                std::thread::sleep(LOOK);
                local::reconcile(app)?;
            }
        }
    }
}

fn show(app: &App, form: Form, line: &[u8]) -> Result<(), CommandError> {
    if form == Form::Raw {
        return app
            .output
            .stream(|out| out.write_all(line).map_err(|_| crate::output::broken_pipe()));
    }
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches('\n');
    let text = match form {
        Form::Raw | Form::Lines => Some(text.to_owned()),
        Form::Records => readable(text),
    };
    match text {
        Some(text) => app.output.stored_line(Stream::Stdout, "", &text),
        None => Ok(()),
    }
}

/// What people read of a line: all of it, unless it is a record of a tool.
fn readable(line: &str) -> Option<String> {
    let record = serde_json::from_str::<Value>(line).ok().filter(|said| said["type"].is_string());
    let Some(record) = record else { return Some(line.to_owned()) };
    let data = ah_model::RawJson::of(&record).ok()?;
    ah_run::readable("assistant_message", &data)
}

fn elsewhere(run: &Run, error: &std::io::Error) -> CommandError {
    let session = &run.session_id;
    let who = run.executor_id.as_ref().map_or("nobody".to_owned(), ToString::to_string);
    let message = format!("there is no log of run {} on this machine: {error}", run.id);
    CommandError::new(Exit::NotFound, message)
        .hint(format!("{who} had the run; `ah session events {session}` prints what it told"))
}
