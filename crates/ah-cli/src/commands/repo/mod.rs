//! `ah repo`: repositories that sessions work in.

mod add;
mod detect;
mod list;
mod remove;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the repository around the current directory, without recording it
    Detect(detect::Args),
    /// List the repositories that are known
    List(list::Args),
    /// Record a repository
    Add(add::Args),
    /// Forget a repository that has no sessions
    Remove(remove::Args),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Detect(args) => detect::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Add(args) => add::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
    }
}
