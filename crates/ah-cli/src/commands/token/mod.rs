//! `ah token`: who may do what over the network.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a token and print it, once
    Create(Lazy<create::Args>),
    /// List tokens; their secrets are kept nowhere
    List(Lazy<list::Args>),
    /// End a token now
    Revoke(Lazy<revoke::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Revoke(args) => revoke::run(app, &args),
    }
}
