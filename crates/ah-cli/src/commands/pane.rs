//! Agents in panes of tmux, zellij or screen: opened, begun in there, and reached.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ah_model::{Multiplexer, NewEvent, RawJson, RunId, RunStatus, Session};
use ah_run::{Folder, Folders, Local, NewPane};
use ah_store::block_on;

use super::local::{self, Workers};
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::runner::{PANE, SHOW};

/// How long a worker in a pane may take to begin, and how often that is looked for.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// Variables that say where a terminal is: those of the pane count in it.
const OF_A_PANE: [&str; 7] =
    ["TMUX", "TMUX_PANE", "ZELLIJ", "ZELLIJ_SESSION_NAME", "STY", "WINDOW", "TERM"];

/// Opens a pane in which a worker takes the run; where it is.
pub(crate) fn open(
    workers: &Workers,
    local: &Local,
    run: &RunId,
    multiplexer: Multiplexer,
) -> Result<String, CommandError> {
    let found = block_on(local.store().run(run.clone()))?;
    let session = block_on(local.store().session(found.session_id))?;
    let variables = workers.variables();
    let inside = inside(multiplexer);
    let is_inside = variables.iter().any(|(name, value)| name == inside && !value.is_empty());
    local.folders().of(run).note_environment(&variables)?;
    let name = format!("ah-{}", ah_run::short(&session.id));
    let directory = session.details.project_dir.clone().map(PathBuf::from).unwrap_or_default();
    // What keeps the terminal has an environment of its own, so it is told where the state is.
    let command = workers.words(&[PANE, &local.state().to_string_lossy(), run.as_str()]);
    let pane =
        NewPane { multiplexer, is_inside, name: &name, directory: &directory, command: &command };
    let mut said = String::new();
    for words in pane.commands() {
        said = answer(&words)?;
    }
    let update = pane.opened(&said);
    let place = format!(
        "{multiplexer} {}{}",
        update.mux_session.as_deref().unwrap_or_default(),
        update.pane_left.as_ref().map(|pane| format!(", pane {pane}")).unwrap_or_default()
    );
    let note = NewEvent {
        kind: "hostPane".to_owned(),
        data: RawJson::of(&update)?,
        dedup_key: Some(format!("run/{run}/pane")),
        ts: None,
    };
    block_on(local.store().update_session(session.id.clone(), update))?;
    block_on(local.store().append_events(session.id, vec![note]))?;
    await_begin(local, run, &place)?;
    Ok(place)
}

/// The variable that is set inside of a multiplexer.
fn inside(multiplexer: Multiplexer) -> &'static str {
    match multiplexer {
        Multiplexer::Tmux => "TMUX",
        Multiplexer::Zellij => "ZELLIJ",
        Multiplexer::Screen => "STY",
    }
}

fn answer(words: &[String]) -> Result<String, CommandError> {
    let Some((name, rest)) = words.split_first() else { return Ok(String::new()) };
    let failed = |reason: String| {
        CommandError::new(Exit::Failed, format!("{name} opens no pane: {reason}"))
            .hint("leave `--multiplexer` out, or `ah config set run.multiplexer \"\"`")
    };
    let done = Command::new(name).args(rest).output().map_err(|error| failed(error.to_string()))?;
    match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(failed(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
    }
}

fn await_begin(local: &Local, run: &RunId, place: &str) -> Result<(), CommandError> {
    let until = Instant::now() + PATIENCE;
    while block_on(local.store().run(run.clone()))?.status == RunStatus::Pending {
        if Instant::now() >= until {
            let message = format!("run {run} does not begin in {place}");
            return Err(CommandError::new(Exit::Failed, message)
                .hint(format!("`ah run stop {run}` gives it up")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Becomes the worker of a run, in a pane, with the environment of who asked for it.
pub(crate) fn begin(app: &App, state: &OsStr, run: &OsStr) -> ExitCode {
    let begun = run.to_str().unwrap_or_default().parse().map_err(CommandError::from);
    let folders = Folders::below(Path::new(state));
    match begun.and_then(|run: RunId| become_worker(app, &folders.of(&run), &run)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            app.output.error(&error);
            ExitCode::FAILURE
        }
    }
}

#[cfg(unix)]
fn become_worker(app: &App, folder: &Folder, run: &RunId) -> Result<(), CommandError> {
    use std::os::unix::process::CommandExt;
    let variables = folder.take_environment().unwrap_or_default();
    let mut words = Workers::of(app)?.words(&[SHOW, run.as_str()]).into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env_clear().envs(variables);
    for name in OF_A_PANE {
        match app.environment.var(name) {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let error = command.exec();
    Err(CommandError::new(Exit::Failed, format!("no worker can be started: {error}")))
}

#[cfg(not(unix))]
fn become_worker(_app: &App, _folder: &Folder, _run: &RunId) -> Result<(), CommandError> {
    Err(CommandError::new(Exit::Failed, "there are no panes on this system"))
}

/// Works on a run, and shows what its program writes.
pub(crate) fn worker(app: &App, run: &OsStr) -> ExitCode {
    let work = || -> Result<(), CommandError> {
        let run = run.to_str().unwrap_or_default().parse()?;
        let local = local::machine(app, Arc::from(app.store()?))?;
        let done = local::foreground(app, &local, &run)?;
        local::outcome(app, &done)
    };
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            app.output.error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Brings the person to the pane of a session; `false` if it has none, or nobody sits at a terminal.
pub(crate) fn attach(app: &App, session: &Session) -> Result<bool, CommandError> {
    let details = &session.details;
    let kind = details.multiplexer_kind.as_deref().and_then(|kind| kind.parse().ok());
    let (Some(kind), Some(name)) = (kind, &details.mux_session) else { return Ok(false) };
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let is_inside = app.environment.is_set(inside(kind));
    let words = ah_run::attach(kind, name, details.mux_window, is_inside);
    let Some((program, rest)) = words.split_first() else { return Ok(false) };
    // A pane that is gone leaves the log to be followed.
    Ok(Command::new(program).args(rest).status().is_ok_and(|status| status.success()))
}
