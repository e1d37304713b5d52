//! `ah question`: things asked of the operator or of an agent.

mod answer;
mod ask;
mod list;
mod show;
mod view;
mod withdraw;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask, and print the question's id, or the answer with `--wait`
    Ask(Lazy<ask::Args>),
    /// List questions, newest first
    List(Lazy<list::Args>),
    /// Show one question
    Show(Lazy<show::Args>),
    /// Answer a question; after its deadline the answer is kept as late
    Answer(Lazy<answer::Args>),
    /// Take a question back
    Withdraw(Lazy<withdraw::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Ask(args) => ask::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Answer(args) => answer::run(app, &args),
        Command::Withdraw(args) => withdraw::run(app, &args),
    }
}
