//! Resident agents: what `ah agent run` and `ah up` have in common.

use std::sync::Arc;

use ah_hive::Host;
use ah_hive::resident::{
    Pace, Resident, ResidentOptions, Stop, Supervised, Supervisor, Tell, Until,
};
use ah_model::{Agent, Invalid};
use ah_store::Store;

use crate::app::App;
use crate::environment::{AH_EVENTS_DB, hostname};
use crate::error::CommandError;

/// How loops of this machine run.
pub(crate) fn options(
    app: &App,
    pace: Pace,
    until: Until,
) -> Result<ResidentOptions, CommandError> {
    let path = app.environment.var_os("PATH");
    let search = path.map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    // What the program itself was told by a flag, those that it runs must know as well.
    let remote = app.config()?.remote_server()?;
    let environment = remote.map(|url| ("AH_REMOTE_SERVER".to_owned(), url.to_owned()));
    Ok(ResidentOptions {
        programs: app.config()?.programs(),
        script: None,
        search,
        environment: environment.into_iter().collect(),
        holder: holder(),
        pace,
        until,
        tell: tell(app),
        events: None,
    })
}

/// Where the live events of one agent are kept instead, if anybody says so.
pub(crate) fn events(app: &App) -> Option<std::path::PathBuf> {
    app.environment.var_os(AH_EVENTS_DB).map(Into::into)
}

/// A store and the homes of this machine, which its agents have wherever the store is.
pub(crate) fn host(app: &App, store: Arc<dyn Store>) -> Result<Host, CommandError> {
    let homes = ah_hive::Homes::new(app.environment.state_dir()?);
    Ok(Host::new(store, Some(homes)))
}

/// Keeps the loops of all resident agents running.
pub(crate) fn supervise(app: &App, store: Arc<dyn Store>) -> Result<Supervised, CommandError> {
    let options = options(app, Pace::default(), Until::default())?;
    let (host, tell) = (host(app, Arc::clone(&store))?, options.tell.clone());
    let make = move |agent: &Agent, stop| Resident::new(host.clone(), agent, options.clone(), stop);
    Ok(Supervisor::new(store, Box::new(make), tell, Stop::default()).start()?)
}

/// Has `stop` said when the process is asked to end.
pub(crate) fn stops(stop: &Stop) -> Result<(), CommandError> {
    let stop = stop.clone();
    ah_server::when_asked_to_end(move || stop.say()).map_err(|error| {
        let message = format!("signals cannot be listened for: {error}");
        CommandError::new(crate::error::Exit::Failed, message)
    })
}

/// The milliseconds of a flag's span.
pub(crate) fn span(text: Option<&str>, default: u64) -> Result<u64, Invalid> {
    text.map_or(Ok(default), crate::when::span)
}

fn tell(app: &App) -> Tell {
    let output = app.output;
    Arc::new(move |line: &str| output.talk(line))
}

/// A word for this process.
fn holder() -> String {
    let host = hostname().unwrap_or_else(|| "this machine".to_owned());
    let holder = format!("process {} on {host}", std::process::id());
    holder[..holder.floor_char_boundary(ah_model::limits::LABEL_BYTES_MAX)].to_owned()
}
