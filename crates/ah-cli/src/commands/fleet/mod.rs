//! `ah fleet`: executors that work on one session together. What a fleet and a fence are is in the
//! store; these verbs ask for them and wait.

mod add;
mod create;
mod end;
mod fence;
mod fences;
mod fencing;
mod lead;
mod lines;
mod list;
mod members;
mod output;
mod remove;
mod run;
mod show;
mod view;

use ah_model::{Fleet, FleetChange, FleetDeed};
use ah_store::{Store, block_on};
use clap::Subcommand;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Form a fleet of a session: each member holds an executor
    Create(Lazy<create::Args>),
    /// Show the fleet of a session, and who holds its members
    Show(Lazy<show::Args>),
    /// List fleets, newest first
    List(Lazy<list::Args>),
    /// Let another member lead
    Lead(Lazy<lead::Args>),
    /// Add a member
    Add(Lazy<add::Args>),
    /// Let a member go
    Remove(Lazy<remove::Args>),
    /// End a fleet and let its executors go
    End(Lazy<end::Args>),
    /// Wait until all members have the leader's files; exit 1 when they do not
    Fence(Lazy<fence::Args>),
    /// List the fences of a session, newest first
    Fences(Lazy<fences::Args>),
    /// Run a program on members once all have the leader's files; exit 0 when all ended well
    Run(Lazy<run::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Lead(args) => lead::run(app, &args),
        Command::Add(args) => add::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
        Command::End(args) => end::run(app, &args),
        Command::Fence(args) => fence::run(app, &args),
        Command::Fences(args) => fences::run(app, &args),
        Command::Run(args) => run::run(app, &args),
    }
}

/// Changes the fleet of a session and prints it, for people as `said` says.
fn change(
    app: &App,
    store: &dyn Store,
    session: &str,
    what: FleetDeed,
    said: impl FnOnce(&Fleet) -> String,
) -> Result<(), CommandError> {
    let id = app.session_id(store, session)?;
    let change = FleetChange { epoch: None, what };
    let changed = block_on(store.change_fleet(id.clone(), change));
    let fleet = changed.map_err(|error| {
        refused(error.into(), &format!("`ah fleet show {id}` shows its members and who leads"))
    })?;
    app.output.result(&fleet, said)
}

/// Says what to do about a fleet that does not allow something.
fn refused(error: CommandError, hint: &str) -> CommandError {
    match error.exit {
        Exit::Conflict => error.hint(hint),
        _ => error,
    }
}
