use ah_store::{KeyValues, block_on};

use super::Scope;
use crate::app::App;
use crate::commands::paging::{Paging, print};
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
    let page = block_on(app.store()?.kv_list(args.scope.scope.clone(), args.paging.request()?))?;
    let empty = format!("no keys in scope {}", args.scope.scope);
    print(app, &page, &["KEY", "VALUE"], &empty, |entry| {
        vec![printable(&entry.key), printable(&entry.value)]
    })
}
