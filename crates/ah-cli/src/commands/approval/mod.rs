//! `ah approval`: decisions that only the operator may take.

mod approve;
mod decide;
mod deny;
mod list;
mod request;
mod show;
mod view;
mod withdraw;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask for an approval and print its id
    Request(Lazy<request::Args>),
    /// List approvals, newest first
    List(Lazy<list::Args>),
    /// Show one approval
    Show(Lazy<show::Args>),
    /// Allow what is asked for, and carry it out
    Approve(Lazy<approve::Args>),
    /// Refuse what is asked for
    Deny(Lazy<deny::Args>),
    /// Take a request back
    Withdraw(Lazy<withdraw::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Request(args) => request::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Approve(args) => approve::run(app, &args),
        Command::Deny(args) => deny::run(app, &args),
        Command::Withdraw(args) => withdraw::run(app, &args),
    }
}
