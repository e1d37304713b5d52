//! Serving a database to other programs: what `ah up` and `ah agent access-point` have in common.

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use ah_hive::resident::Supervised;
use ah_model::{Prices, TokenRole};
use ah_server::{
    AuthMode, JobLine, JobSink, LogLine, LogSink, ServerOptions, ServerState, Tls, Transport,
    check_bind, serve_until_signal,
};
use ah_store::Store;
use serde_json::json;

use super::executors::ExecutorsArgs;
use super::hook::desk::{self, Drainer};
use super::queue::Queue;
use super::{dashboard, demo, local, residents};
use crate::app::App;
use crate::config::{self, LogLevel};
use crate::error::{CommandError, Exit};
use crate::secret;

/// Lines of the log that wait to be written; more are left out rather than hold up an answer.
const LINES_WAITING_MAX: usize = 10_000;

/// What to serve, and to whom.
pub(crate) struct Serving<'a> {
    pub(crate) bind: SocketAddr,
    pub(crate) auth: AuthMode,
    /// Somebody typed that unencrypted is meant.
    pub(crate) insecure: bool,
    /// The certificate chain and its key.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// Where the coordinator's interface is at `/`.
    pub(crate) coordinator: Option<SocketAddr>,
    /// Whether loops of resident agents run here.
    pub(crate) residents: Residents,
    /// How many agents of tasks that are queued run here at once.
    pub(crate) runs: usize,
    /// Where executors come in, if anybody says so.
    pub(crate) executors: Option<&'a ExecutorsArgs>,
}

/// Whether loops of resident agents run beside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Residents {
    /// They run elsewhere, if anywhere.
    Elsewhere,
    /// They run here.
    Kept,
    /// They run here, those of the demo among them.
    Demo,
}

impl Serving<'_> {
    /// The programs of this machine, with the token that is in the owner's file.
    pub(crate) fn of_this_machine(bind: SocketAddr) -> Self {
        let residents = Residents::Kept;
        let (auth, tls, coordinator) = (AuthMode::Tokens, None, None);
        let (runs, executors) = (0, None);
        Self { bind, auth, insecure: false, tls, coordinator, residents, runs, executors }
    }

    fn transport(&self) -> Transport {
        match (&self.tls, self.insecure) {
            (Some(_), _) => Transport::Tls,
            (None, true) => Transport::Insecure,
            (None, false) => Transport::Plain,
        }
    }

    fn options(&self, app: &App) -> Result<ServerOptions, CommandError> {
        let exposure = check_bind(self.bind, self.transport(), self.auth)
            .map_err(|reason| CommandError::new(Exit::NotAllowed, reason).hint(ON_THIS_MACHINE))?;
        let tls = self.tls.as_ref().map(|(chain, key)| Tls::from_files(chain, key)).transpose();
        let tls = tls.map_err(|error| CommandError::new(Exit::Configuration, error.to_string()))?;
        let level = app.output.level;
        let lines = lines(level)?;
        Ok(ServerOptions {
            auth: self.auth,
            exposure,
            tls,
            log: lines.clone().map(|lines| requests(lines, level)),
            jobs: lines.map(jobs),
            homes: app.homes()?,
            sockets: Some(app.environment.runtime_dir()?),
            hooks: Some(desk::desk()),
            retention: app.config()?.retention(),
            prices: Prices::listed().with(config::own_prices(&app.environment)?),
            ..ServerOptions::default()
        })
    }
}

/// Serves until the process is asked to end.
pub(crate) fn serve(app: &App, serving: &Serving<'_>) -> Result<(), CommandError> {
    let options = serving.options(app)?;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let store: Arc<dyn Store> = Arc::new(app.served_store()?);
    let state = ServerState::with_options(Arc::clone(&store), options);
    // First of all: a second server of this home has no business here.
    state.take_sockets().map_err(occupied)?;
    let token = match serving.auth {
        AuthMode::Open => None,
        AuthMode::Tokens => Some(secret::ensure_admin_token(app, store.as_ref())?),
    };
    let url = |listener: &TcpListener| {
        listener.local_addr().map(|address| format!("{scheme}://{address}")).map_err(broken)
    };
    let listener = listen(serving.bind)?;
    let coordinator = serving.coordinator.map(listen).transpose()?;
    let own = url(&listener)?;
    if let Some((token, _)) = &token {
        secret::serves(app, &own, token)?;
    }
    let point = serving.executors.map(|args| args.start(app, &store)).transpose()?.flatten();
    if let Some(point) = &point {
        state.ask_for_presence(Arc::clone(&point.presence));
        state.dispatch_through(Arc::clone(&point.dispatch));
    }
    let executors = point.as_ref().map(|point| point.address.to_string());
    let token_file = token.map(|(_, file)| file);
    let coordinator_url = coordinator.as_ref().map(url).transpose()?;
    let dashboard = match serving.auth {
        AuthMode::Open => own.clone(),
        AuthMode::Tokens => {
            let whom = (TokenRole::Admin, dashboard::OPERATOR);
            dashboard::link(app, store.as_ref(), &own, whom)?
        }
    };
    let answer = json!({ "url": own, "dashboardUrl": dashboard, "tokenFile": token_file, "coordinatorUrl": coordinator_url, "executors": executors });
    app.output.result(&answer, |_| {
        let token = token_file.as_ref().map_or_else(
            || "nobody is asked for a token".to_owned(),
            |path| format!("its first token is in {}", path.display()),
        );
        let coordinator = coordinator_url
            .as_ref()
            .map_or_else(String::new, |url| format!("the coordinator's interface is at {url}\n"));
        let executors = executors
            .as_ref()
            .map_or_else(String::new, |address| format!("executors come in at {address}\n"));
        format!(
            "serving {own}; {token}\n{coordinator}{executors}look at it, with this link once: {dashboard}\nuse it with `ah --remote-server {own} …`; Ctrl-C ends it"
        )
    })?;
    raise_descriptors();
    let residents = keep_residents(app, serving.residents, &store)?;
    let drainer = Drainer::start(&app.environment, Arc::clone(&store)).map_err(broken)?;
    local::sweep(app)?;
    let queue = Queue::start(app, &store, serving.runs)?;
    let served = serve_until_signal(listener, coordinator, state).map_err(broken);
    if let Some(queue) = queue {
        queue.end();
    }
    drainer.end();
    if let Some(residents) = residents {
        residents.end();
    }
    if let Some(point) = point {
        point.running.end();
    }
    served
}

/// Runs the loops of resident agents until the process is asked to end.
fn keep_residents(
    app: &App,
    kept: Residents,
    store: &Arc<dyn Store>,
) -> Result<Option<Supervised>, CommandError> {
    match kept {
        Residents::Elsewhere => return Ok(None),
        Residents::Kept => {}
        Residents::Demo => demo::prepare(app, &residents::host(app, Arc::clone(store))?)?,
    }
    let supervised = residents::supervise(app, Arc::clone(store))?;
    residents::stops(supervised.stop())?;
    Ok(Some(supervised))
}

/// Many clients need many descriptors: as many as the system allows without asking.
#[cfg(unix)]
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // A refusal leaves what there was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(not(unix))]
fn raise_descriptors() {}

/// Writes lines to stderr, one after another; nothing when only errors are wanted.
fn lines(level: LogLevel) -> Result<Option<SyncSender<String>>, CommandError> {
    if level == LogLevel::Error {
        return Ok(None);
    }
    let (send, lines) = sync_channel::<String>(LINES_WAITING_MAX);
    let write = move || {
        for line in lines {
            // Nobody to tell when stderr is gone.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    };
    std::thread::Builder::new().name("ah-log".to_owned()).spawn(write).map_err(broken)?;
    Ok(Some(send))
}

/// Lines about requests: all of them for who looks for a cause, else those that the server could not
/// answer.
fn requests(lines: SyncSender<String>, level: LogLevel) -> LogSink {
    let least = if level == LogLevel::Debug { 0 } else { 500 };
    Arc::new(move |line: &LogLine<'_>| {
        if line.status >= least {
            let _ = lines.try_send(line.to_string());
        }
    })
}

/// Lines about what the server does by itself.
fn jobs(lines: SyncSender<String>) -> JobSink {
    Arc::new(move |line: &JobLine<'_>| {
        let is_news =
            !matches!(line, JobLine::Removed { receipt, .. } if receipt.removed.is_empty());
        if is_news {
            let _ = lines.try_send(line.to_string());
        }
    })
}

const ON_THIS_MACHINE: &str = "serve this machine only: `--bind 127.0.0.1:4747`";

fn listen(bind: SocketAddr) -> Result<TcpListener, CommandError> {
    TcpListener::bind(bind).map_err(|error| {
        CommandError::new(Exit::Failed, format!("cannot listen on {bind}: {error}"))
            .hint(format!(
                "the harbor may be up already: `ah --remote-server http://{bind} status`"
            ))
            .hint("port 0 takes any that is free")
    })
}

/// The directory of the sockets cannot be had.
fn occupied(error: std::io::Error) -> CommandError {
    let message = format!("cannot serve: {error}");
    match error.kind() {
        ErrorKind::AddrInUse => CommandError::new(Exit::Conflict, message)
            .hint("one server has a home at a time: use the one that is up, or end it first")
            .hint("AH_HOME names another home"),
        ErrorKind::PermissionDenied => CommandError::new(Exit::NotAllowed, message),
        _ => CommandError::new(Exit::Failed, message),
    }
}

fn broken(error: std::io::Error) -> CommandError {
    CommandError::new(Exit::Failed, format!("the server broke off: {error}"))
}
