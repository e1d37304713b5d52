//! `ah snapshot`: states of the files that sessions work on.

mod branch;
mod create;
mod delete;
mod diff;
mod list;
mod providers;
mod prune;
mod restore;
mod scene;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Take a snapshot of a session's files and record it in the session
    Create(Lazy<create::Args>),
    /// List snapshots as their provider has them, and whether they are recorded
    List(Lazy<list::Args>),
    /// Show what changed since a snapshot, or between two
    Diff(Lazy<diff::Args>),
    /// Write the files of a snapshot into a new directory, or back in place
    Restore(Lazy<restore::Args>),
    /// Go on from a snapshot: a branch with its files, and a fork of the session up to it
    Branch(Lazy<branch::Args>),
    /// Remove a snapshot; the session's log keeps that there was one
    Delete(Lazy<delete::Args>),
    /// Remove the older snapshots of a session
    Prune(Lazy<prune::Args>),
    /// Show who can keep snapshots of a directory, and why or why not
    Providers(Lazy<providers::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Diff(args) => diff::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Branch(args) => branch::run(app, &args),
        Command::Delete(args) => delete::run(app, &args),
        Command::Prune(args) => prune::run(app, &args),
        Command::Providers(args) => providers::run(app, &args),
    }
}
