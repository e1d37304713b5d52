//! `ah db`: the database file.

mod backup;
mod check;
mod compact;
mod path;
mod restore;
mod stats;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print where the database is
    Path(Lazy<path::Args>),
    /// Prove that the database is sound and name what is wrong
    Check(Lazy<check::Args>),
    /// Copy the database while it is in use, and verify the copy
    Backup(Lazy<backup::Args>),
    /// Put a backup in the database's place; what was there is kept
    Restore(Lazy<restore::Args>),
    /// Show sizes
    Stats(Lazy<stats::Args>),
    /// Give unused space back while the database is in use
    Compact(Lazy<compact::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Path(args) => path::run(app, &args),
        Command::Check(args) => check::run(app, &args),
        Command::Backup(args) => backup::run(app, &args),
        Command::Restore(args) => restore::run(app, &args),
        Command::Stats(args) => stats::run(app, &args),
        Command::Compact(args) => compact::run(app, &args),
    }
}
