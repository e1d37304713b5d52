//! `ah workspace`: named groups of sessions on a server.

mod create;
mod list;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the workspaces
    List(Lazy<list::Args>),
    /// Create a workspace
    Create(Lazy<create::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(app, &args),
        Command::Create(args) => create::run(app, &args),
    }
}
