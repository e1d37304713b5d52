//! `ah retention`: what is removed when, and the receipts of it.

mod plan;
mod receipts;
mod run;

use ah_model::Tally;
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;
use crate::output::{bytes, table};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what would be removed now; nothing is changed
    Plan(Lazy<plan::Args>),
    /// Remove what is too old and give the space back
    Run(Lazy<run::Args>),
    /// List what was removed, and when
    Receipts(Lazy<receipts::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Plan(args) => plan::run(app, &args),
        Command::Run(args) => run::run(app, &args),
        Command::Receipts(args) => receipts::run(app, &args),
    }
}

/// Amounts by class, as a table.
pub(crate) fn amounts(tally: &Tally) -> String {
    let row = |(class, amount): (&String, &ah_model::Amount)| {
        vec![class.clone(), amount.rows.to_string(), bytes(amount.bytes)]
    };
    let rows: Vec<_> = tally.0.iter().map(row).collect();
    table(&["WHAT", "ROWS", "CONTENT"], &rows)
}
