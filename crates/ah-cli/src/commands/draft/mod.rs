//! `ah draft`: tasks not sent yet.

mod delete;
mod launch;
mod list;
mod save;
mod show;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

pub(crate) use self::launch::task_of;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Save a draft and print its id
    Save(Lazy<save::Args>),
    /// List drafts
    List(Lazy<list::Args>),
    /// Show one draft
    Show(Lazy<show::Args>),
    /// Remove a draft
    Delete(Lazy<delete::Args>),
    /// Send a draft: record it as a task and remove it
    Launch(Lazy<launch::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Save(args) => save::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Delete(args) => delete::run(app, &args),
        Command::Launch(args) => launch::run(app, &args),
    }
}
