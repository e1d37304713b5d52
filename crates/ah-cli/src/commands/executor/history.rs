use ah_model::ExecutorEvent;
use ah_store::block_on;

use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id; all of them when not given
    id: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

const HEADER: &[&str] = &["AT", "EXECUTOR", "WHAT", "DATA"];

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = args.id.as_deref().map(str::parse).transpose()?;
    let look = Look { header: HEADER, empty: "nothing has happened to executors", row: &row };
    args.paging.print(app, &look, |page| Ok(block_on(store.executor_history(id.clone(), page))?))
}

fn row(event: &ExecutorEvent) -> Vec<String> {
    vec![
        event.at.to_string(),
        event.executor_id.to_string(),
        printable(&event.kind),
        printable(event.data.as_str()),
    ]
}
