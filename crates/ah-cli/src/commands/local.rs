//! Agents that run on this machine: what `ah task`, `ah session` and `ah up` have in common.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use ah_model::{Run, RunId, RunOutcome, RunStatus, SessionId};
use ah_run::{
    AgentPrograms, Done, Folder, Folders, Local, LocalOptions, Reconciled, RunError, Show, Stop,
    Tell,
};
use ah_store::{IdSource, Store, SystemClock, SystemIds, block_on};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};
use crate::output::Stream;
use crate::runner::{RUNNER, SCRIPTED, WORK};
use crate::whereabouts;

/// Variables that name the run that this process belongs to itself, which its own do not.
const OF_A_RUN: [&str; 3] = ["AH_RUN_ID", "AH_SESSION_ID", "AH_TASK_ID"];

/// How long the folder of a run that is over stays: what it has beyond the store is the raw output.
const FOLDERS_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// This machine as the executor of its own runs.
pub(crate) fn machine(app: &App, store: Arc<dyn Store>) -> Result<Local, CommandError> {
    let own = own()?;
    let state = app.environment.state_dir()?;
    let hostname = hostname();
    let executor = Local::identify(&state, hostname.as_deref(), &SystemIds.random()?)?;
    let path = app.environment.var_os("PATH");
    let search = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let scripted = [own.as_slice(), &[SCRIPTED.to_owned()]].concat();
    let programs = app.config()?.agent_kinds(AgentPrograms::known(&scripted));
    let environment = handed_down(app)?;
    Ok(Local::new(LocalOptions {
        store,
        clock: Arc::new(SystemClock),
        state,
        executor,
        hostname,
        programs,
        search,
        own,
        environment,
        redaction: app.config()?.redaction(),
        moved_to: |store, session| whereabouts::present_dir(store, session).ok(),
    }))
}

/// Ends the runs of this machine whose workers are gone, and says so; costs nothing when no agent
/// runs here.
pub(crate) fn reconcile(app: &App) -> Result<(), CommandError> {
    let state = app.environment.state_dir()?;
    if Folders::below(&state).active().is_empty() {
        return Ok(());
    }
    let local = machine(app, Arc::from(app.store()?))?;
    local.reconcile().iter().for_each(|lost| app.output.talk(&sentence(lost)));
    Ok(())
}

/// Removes what runs of this machine left in files long ago.
pub(crate) fn sweep(app: &App) -> Result<(), CommandError> {
    let before = app.now().minus_ms(FOLDERS_KEPT_MS);
    let swept = Folders::below(&app.environment.state_dir()?).sweep(before);
    app.output.debug(&format!("{swept} folders of old runs removed"));
    Ok(())
}

/// What became of a run that was found without its worker.
pub(crate) fn sentence(lost: &Reconciled) -> String {
    let Reconciled { session, status, reason, ended, .. } = lost;
    let ended = match ended.as_slice() {
        [] => String::new(),
        some => {
            let some: Vec<_> = some.iter().map(ToString::to_string).collect();
            format!("; what was left of its program was ended (process {})", some.join(", "))
        }
    };
    format!("session {session}: its run {status}: {reason}{ended}")
}

/// Our own program as a runner.
pub(super) fn own() -> Result<Vec<String>, CommandError> {
    let failed = |message: String| CommandError::new(Exit::Failed, message);
    let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let own = own.into_os_string().into_string().map_err(|path| {
        failed(format!("the path of this program is no text: {}", path.display()))
    })?;
    Ok(vec![own, RUNNER.to_owned()])
}

/// What this program was told by flags, those that it starts must know as well.
fn handed_down(app: &App) -> Result<Vec<(String, String)>, CommandError> {
    let config = app.config()?;
    let told = [
        ("AH_REMOTE_SERVER", config.remote_server()?),
        ("AH_STORE_DATABASE_URL", config.database_url()),
    ];
    let told =
        told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    Ok(told.collect())
}

/// Runs the program of a run here, and shows what it writes, until it has ended.
pub(crate) fn foreground(app: &App, local: &Local, run: &RunId) -> Result<Done, CommandError> {
    let stop = Stop::default();
    stops(&stop)?;
    Ok(local.work(run, &tell(app), &stop)?)
}

/// What a program writes goes where it would; nothing when the answer is a document.
fn tell(app: &App) -> Tell {
    let output = app.output;
    Arc::new(move |show: Show<'_>| {
        let (stream, text) = match show {
            Show::Begins => return,
            Show::Output(text) => (Stream::Stdout, text),
            Show::Errors(text) => (Stream::Stderr, text),
        };
        if !output.is_json() {
            // A reader that went away does not end the agent.
            let _ = output.stored_line(stream, "", text);
        }
    })
}

/// Ctrl-C and a polite kill ask the program to end; the second time they kill it.
fn stops(stop: &Stop) -> Result<(), CommandError> {
    let again = stop.clone();
    let first = stop.clone();
    let listened = ah_server::when_asked_to_end(move || {
        first.say();
        // Whoever cannot be asked twice is killed after a while.
        let _ = ah_server::when_asked_to_end(move || again.say());
    });
    listened.map_err(|error| {
        CommandError::new(Exit::Failed, format!("signals cannot be listened for: {error}"))
    })
}

/// What a worker tells who started it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Begun {
    Begun,
    Failed { detail: String, hints: Vec<String> },
}

/// Starts a process of its own that works on the run, which outlives this one; its number.
pub(crate) fn detach(app: &App, local: &Local, run: &RunId) -> Result<u32, CommandError> {
    let log = local.folders().of(run).open_worker_log()?;
    let mut command = Workers::of(app)?.command(run);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    let failed = |error: std::io::Error| {
        CommandError::new(Exit::Failed, format!("no worker can be started: {error}"))
    };
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(told) = child.stdout.take() {
        BufReader::new(told).read_line(&mut line).map_err(failed)?;
    }
    match serde_json::from_str(&line) {
        Ok(Begun::Begun) => Ok(child.id()),
        Ok(Begun::Failed { detail, hints }) => {
            let error = CommandError::new(Exit::Failed, detail);
            Err(hints.into_iter().fold(error, CommandError::hint))
        }
        Err(_) => {
            let message = format!("the worker of run {run} ended before it began");
            Err(CommandError::new(Exit::Failed, message)
                .hint(format!("`ah run show {run}` says how the run stands")))
        }
    }
}

/// How workers are begun.
pub(crate) struct Workers {
    own: Vec<String>,
    config: Option<PathBuf>,
    environment: Vec<(String, String)>,
    /// All that this process was started with.
    variables: Vec<(String, String)>,
}

impl Workers {
    pub(crate) fn of(app: &App) -> Result<Self, CommandError> {
        let config = app.global.config.as_deref();
        let config = config.map(|path| app.environment.absolute(path)).transpose()?;
        let variables = app.environment.variables();
        let variables = variables.filter(|(name, _)| !OF_A_RUN.contains(name));
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let environment = handed_down(app)?;
        Ok(Self { own: own()?, config, variables: variables.collect(), environment })
    }

    /// The words of our own program as a runner that does what these say.
    pub(crate) fn words(&self, words: &[&str]) -> Vec<String> {
        let config = self.config.as_ref().map(|path| path.to_string_lossy().into_owned());
        let words = words.iter().map(|word| (*word).to_owned()).chain(config);
        self.own.iter().cloned().chain(words).collect()
    }

    /// The variables of a worker that somebody else starts.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        self.variables.iter().chain(&self.environment).cloned().collect()
    }

    /// The command of a worker.
    pub(crate) fn command(&self, run: &RunId) -> Command {
        let mut words = self.words(&[WORK, run.as_str()]).into_iter();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        for name in OF_A_RUN {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Works on a run, as a process of its own.
pub(crate) fn worker(app: &App, run: &OsStr) -> ExitCode {
    #[cfg(unix)]
    {
        // Who leads a session already needs no other.
        let _ = rustix::process::setsid();
    }
    let told: Tell = Arc::new(|show: Show<'_>| {
        if show == Show::Begins {
            say(&Begun::Begun);
        }
    });
    match work(app, run, &told) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            say(&Begun::Failed { detail: error.to_string(), hints: error.hints.clone() });
            app.output.error(&error);
            ExitCode::FAILURE
        }
    }
}

fn work(app: &App, run: &OsStr, tell: &Tell) -> Result<Done, CommandError> {
    let run = run.to_str().unwrap_or_default().parse()?;
    let local = machine(app, Arc::from(app.store()?))?;
    let stop = Stop::default();
    stops(&stop)?;
    Ok(local.work(&run, tell, &stop)?)
}

fn say(begun: &Begun) {
    let mut out = std::io::stdout().lock();
    let line = serde_json::to_string(begun).unwrap_or_default();
    // Who started it may be gone, which is its own affair.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The outcome of a run that was awaited: a failure is one of the command.
pub(crate) fn outcome(app: &App, done: &Done) -> Result<(), CommandError> {
    let run = &done.run;
    let session = &run.session_id;
    if run.status == RunStatus::from(RunOutcome::Completed) {
        app.output.talk(&format!("session {session} completed"));
        return Ok(());
    }
    let why = run.error.as_deref().unwrap_or("nobody said why");
    let message = format!("session {session} {}: {why}", run.status);
    Err(CommandError::new(Exit::Failed, message)
        .hint(format!("`ah session logs {session}` shows what the agent wrote"))
        .hint(format!("`ah session resume {session} PROMPT` goes on with it")))
}

/// The run that somebody has, or may take, of a session; those of its fleet aside.
pub(crate) fn live_run(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<Run>, CommandError> {
    let runs = block_on(store.session_runs(session.clone()))?;
    Ok(runs.into_iter().find(|run| run.status.is_live() && run.member.is_none()))
}

/// What this machine has of a run.
pub(crate) fn folder_of(app: &App, run: &RunId) -> Result<Folder, CommandError> {
    Ok(Folders::below(&app.environment.state_dir()?).of(run))
}

impl From<RunError> for CommandError {
    fn from(error: RunError) -> Self {
        let message = error.to_string();
        match error {
            RunError::Store(error) => error.into(),
            RunError::File { operation, path, source } => Self::file(operation, &path, &source),
            RunError::NoProgram { .. } => Self::new(Exit::Configuration, message).hint(
                "an `[[agent-kind]]` table of the configuration says what is run for a kind",
            ),
            RunError::ProgramMissing { .. } => Self::new(Exit::Configuration, message)
                .hint("install it, or name another in an `[[agent-kind]]` table"),
            RunError::NoResume { .. } => Self::new(Exit::Conflict, message)
                .hint("`--agent KIND` goes on with another tool, which is told the conversation"),
            RunError::NoExternal { session, .. } => Self::new(Exit::Conflict, message).hint(
                format!("`ah session resume {session} PROMPT --agent KIND` tells the conversation to a tool anew"),
            ),
            RunError::NoDirectory { directory, .. } => Self::new(Exit::NotFound, message).hint(
                format!("`ah repo relocate {} NEW` says where it is now", directory.display()),
            ),
            RunError::NotTaken { run, .. } => Self::new(Exit::Conflict, message)
                .hint(format!("`ah run show {run}` says who has it")),
            RunError::WorkingCopy { .. } => Self::new(Exit::Conflict, message)
                .hint("`--working-copy in-place` works in the directory itself"),
            RunError::Start { .. } => Self::new(Exit::Failed, message),
        }
    }
}
