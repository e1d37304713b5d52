//! `ah task`: what people asked agents to do.

mod clean;
mod create;
mod launch;
mod list;
mod show;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

pub(crate) use self::create::{DeliveryArgs, print as print_batch};
pub(crate) use self::launch::queued;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record a task: a created session and a pending run for each agent and instance
    Create(Lazy<create::Args>),
    /// List tasks, newest first
    List(Lazy<list::Args>),
    /// Show one task
    Show(Lazy<show::Args>),
    /// Remove the working copy that was made for a task
    Clean(Lazy<clean::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Clean(args) => clean::run(app, &args),
    }
}
