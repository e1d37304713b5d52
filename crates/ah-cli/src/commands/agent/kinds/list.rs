use ah_model::AgentKind;
use ah_store::block_on;

use crate::app::App;
use crate::commands::agent::view;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let look = Look {
        header: &["ID", "KIND", "METADATA"],
        empty: "no agent kinds; `ah agent kinds add KIND` records one",
        row: &row,
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_agent_kinds(page))?))
}

fn row(kind: &AgentKind) -> Vec<String> {
    let metadata = kind.metadata.as_ref().map(view::json).unwrap_or_default();
    vec![kind.id.to_string(), kind.kind.to_string(), printable(&metadata)]
}
