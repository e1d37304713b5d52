use std::sync::Arc;

use ah_client::RestStore;
use ah_model::{Dispatched, Event, NewDispatch, RequestId};
use ah_store::{IdSource, Store, SystemIds, block_on};
use serde::Deserialize;

use crate::app::App;
use crate::commands::variable::variable;
use crate::commands::waiting::{Following, TICK};
use crate::error::{CommandError, Exit};
use crate::output::Stream;
use crate::when;

/// What a shell adds to the number of the signal that ended a program.
const SIGNALLED: i64 = 128;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run's id
    id: String,
    /// How long the program may run before it is ended; as long as its run without this
    #[arg(long, value_name = "SPAN")]
    timeout: Option<String>,
    /// A variable of the program besides those of the run; may be given several times
    #[arg(long, value_name = "K=V")]
    env: Vec<String>,
    /// Where to run it, below the directory of the run
    #[arg(long, value_name = "PATH")]
    dir: Option<String>,
    /// Do not wait: print what was started
    #[arg(long)]
    detach: bool,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true, required = true)]
    argv: Vec<String>,
}

/// What is said of a program beside a run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    dispatch_id: Option<RequestId>,
    #[serde(default)]
    stream: String,
    #[serde(default)]
    text: String,
    error: Option<String>,
    exit: Option<Ended>,
}

#[derive(Deserialize)]
struct Ended {
    code: Option<i64>,
    signal: Option<i64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let server = server(app)?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let run = block_on(store.run(args.id.parse()?))?;
    let new = NewDispatch {
        id: Some(RequestId::mint(app.now().unix_ms().unsigned_abs(), SystemIds.random()?)),
        epoch: Some(run.lease_epoch),
        env: args.env.iter().map(|pair| variable(pair)).collect::<Result<_, _>>()?,
        directory: args.dir.clone(),
        timeout_ms: args.timeout.as_deref().map(when::span).transpose()?,
        requested_by: app.user(),
        ..NewDispatch::new(args.argv.clone())
    };
    // What is told before it is followed would be missed.
    let after = block_on(store.session(run.session_id.clone()))?.last_seq;
    let dispatched = server.dispatch(&run.id, &new)?;
    if args.detach {
        return app.output.result(&dispatched, |one| one.id.to_string());
    }
    let mut following = Following::new(&store, &run.session_id, after)?;
    let told = follow(app, &*store, &dispatched, &mut following)?;
    end(&dispatched, &told)
}

/// The server whose access point the executor may be connected to.
fn server(app: &App) -> Result<RestStore, CommandError> {
    let none = || {
        let message = "only the access point that an executor is connected to reaches its programs";
        CommandError::new(Exit::Usage, message)
            .hint("`ah run exec --remote-server URL …` asks the one of that server")
    };
    app.remote()?.ok_or_else(none)
}

/// Shows what the program writes until it has ended; how it did.
fn follow(
    app: &App,
    store: &dyn Store,
    dispatched: &Dispatched,
    following: &mut Following,
) -> Result<Told, CommandError> {
    let mut last = None;
    loop {
        if let Some(event) = following.next(TICK)? {
            if let Some(told) = shown(app, &event, dispatched)? {
                return Ok(told);
            }
            continue;
        }
        match last {
            // All that was ever told of the run was shown.
            Some(seq) if following.has(seq) => return Err(untold(dispatched)),
            Some(_) => {}
            None => last = last_of(store, dispatched)?,
        }
    }
}

/// The last event of the session, if the run is not at work any more under its epoch: nothing more
/// is told of the program then.
fn last_of(store: &dyn Store, dispatched: &Dispatched) -> Result<Option<u64>, CommandError> {
    let run = block_on(store.run(dispatched.run_id.clone()))?;
    if run.status.is_live() && run.lease_epoch == dispatched.epoch {
        return Ok(None);
    }
    Ok(Some(block_on(store.session(run.session_id))?.last_seq))
}

/// Shows an event, if it is one of the program; how that ended, if it says so.
fn shown(app: &App, event: &Event, of: &Dispatched) -> Result<Option<Told>, CommandError> {
    let Ok(told) = serde_json::from_str::<Told>(event.data.as_str()) else { return Ok(None) };
    if told.dispatch_id.as_ref() != Some(&of.id) {
        return Ok(None);
    }
    if app.output.is_json() {
        app.output.json(event)?;
    } else if event.kind == "hostLog" {
        let stream = if told.stream == "stderr" { Stream::Stderr } else { Stream::Stdout };
        app.output.stored_piece(stream, &told.text)?;
    }
    Ok(Some(told).filter(|_| event.kind == "hostExited"))
}

/// Ends as the program did.
fn end(dispatched: &Dispatched, told: &Told) -> Result<(), CommandError> {
    let exit = told.exit.as_ref();
    let code = exit.and_then(|exit| exit.code.or(exit.signal.map(|signal| SIGNALLED + signal)));
    let code = code.and_then(|code| u8::try_from(code).ok());
    match (code, &told.error) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(CommandError::passed_on(code)),
        (None, Some(error)) => {
            let message = format!("the program {} did not run: {error}", dispatched.id);
            Err(CommandError::new(Exit::Failed, message))
        }
        (None, None) => Err(untold(dispatched)),
    }
}

fn untold(dispatched: &Dispatched) -> CommandError {
    let Dispatched { id, run_id, executor_id, .. } = dispatched;
    let message =
        format!("nobody said how {id} ended: run {run_id} was lost with executor {executor_id}");
    CommandError::new(Exit::Failed, message).hint(format!("`ah run show {run_id}` shows the run"))
}
