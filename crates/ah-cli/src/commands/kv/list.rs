use ah_model::KvEntry;
use ah_store::block_on;

use super::Scope;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let scope = &args.scope.scope;
    let look = Look {
        header: &["KEY", "VALUE"],
        empty: &format!("no keys in scope {scope}"),
        row: &|entry: &KvEntry| vec![printable(&entry.key), printable(&entry.value)],
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.kv_list(scope.clone(), page))?))
}
