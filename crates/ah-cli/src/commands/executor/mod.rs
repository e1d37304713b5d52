//! `ah executor`: machines that run sessions.

mod list;
mod remove;
mod show;

use ah_model::{Executor, Timestamp};
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

/// An executor that was not heard of for so long is probably gone.
const STALE_MS: u64 = 120_000;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List executors
    List(Lazy<list::Args>),
    /// Show one executor
    Show(Lazy<show::Args>),
    /// Ask an executor to go, or forget it with what it holds
    Remove(Lazy<remove::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
    }
}

/// How an executor stands.
fn state(executor: &Executor, now: Timestamp) -> &'static str {
    match executor.removal_requested_at {
        Some(_) => "leaving",
        None if executor.seen_at.plus_ms(STALE_MS) < now => "stale",
        None => "online",
    }
}
