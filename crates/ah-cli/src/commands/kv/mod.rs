//! `ah kv`: small values by scope and key.

mod delete;
mod get;
mod list;
mod set;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print a value
    Get(Lazy<get::Args>),
    /// Write a value
    Set(Lazy<set::Args>),
    /// List the pairs of a scope
    List(Lazy<list::Args>),
    /// Remove a value
    Delete(Lazy<delete::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Get(args) => get::run(app, &args),
        Command::Set(args) => set::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Delete(args) => delete::run(app, &args),
    }
}

/// Which scope a key is in.
#[derive(Debug, clap::Args)]
pub(crate) struct Scope {
    /// user, repo, repo-user, system or any other name
    #[arg(long, value_name = "S", default_value = "user")]
    scope: String,
}
