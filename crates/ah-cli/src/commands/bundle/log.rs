use ah_bundle::{ChainEnd, LogEntry};

use super::place::{Place, ScopeArgs};
use super::view;
use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, line, printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
}

const HEADER: &[&str] = &["NAME", "SAVED", "SIZE", "CHANGED"];

const CHANGED_CHARS: usize = 80;

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let log = dir.log(&args.scope.required(&dir)?)?;
    let newest = log.entries.first().map_or("nothing", |entry| entry.name.as_str());
    view::tell_damage(app.output, &dir, &log.damage, newest);
    let rows = || log.entries.iter().map(row).collect::<Vec<_>>();
    app.output.result(&log, |_| table(HEADER, &rows()))?;
    if let Some(end) = end(&log.end).filter(|_| !app.output.is_json()) {
        app.output.talk(&end);
    }
    Ok(())
}

fn row(entry: &LogEntry) -> Vec<String> {
    let changed: Vec<String> = entry.changed.iter().map(ToString::to_string).collect();
    vec![
        printable(&entry.name),
        printable(&entry.created_at),
        bytes(entry.bytes),
        line(&changed.join(", "), CHANGED_CHARS),
    ]
}

fn end(end: &ChainEnd) -> Option<String> {
    match end {
        ChainEnd::Root => None,
        ChainEnd::Pruned { sha } => Some(format!("what came before ({sha}) was pruned")),
        ChainEnd::Missing { sha } => Some(format!("warning: the parent {sha} is not here")),
        ChainEnd::Loop { sha } => Some(format!("warning: the parent {sha} is its own descendant")),
    }
}
