use ah_model::{Receipt, Timestamp};
use ah_store::block_on;

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::{bytes, printable};
use crate::when::ago;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

const HEADER: &[&str] = &["ID", "WHY", "OF", "BEGUN", "STATE", "REMOVED"];

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let empty = "nothing was ever removed";
    let look = Look { header: HEADER, empty, row: &|receipt| row(receipt, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_receipts(page))?))
}

fn row(receipt: &Receipt, now: Timestamp) -> Vec<String> {
    let amount = |(class, amount): (&String, &ah_model::Amount)| {
        format!("{class} {} ({})", amount.rows, bytes(amount.bytes))
    };
    let removed: Vec<_> = receipt.removed.0.iter().map(amount).collect();
    vec![
        receipt.id.to_string(),
        receipt.kind.to_string(),
        printable(receipt.subject.as_deref().unwrap_or("")),
        ago(receipt.started_at, now),
        receipt.finished_at.map_or("under way", |_| "done").to_owned(),
        removed.join(", "),
    ]
}
