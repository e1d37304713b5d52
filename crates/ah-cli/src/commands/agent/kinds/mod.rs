//! `ah agent kinds`: the programs that agents are instances of.

mod add;
mod list;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the agent kinds that are known
    List(Lazy<list::Args>),
    /// Record an agent kind, or what else is known of one
    Add(Lazy<add::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(app, &args),
        Command::Add(args) => add::run(app, &args),
    }
}
