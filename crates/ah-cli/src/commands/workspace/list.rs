use ah_store::{Workspaces, block_on};

use crate::app::App;
use crate::commands::paging::{Paging, print};
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let page = block_on(app.store()?.list_workspaces(args.paging.request()?))?;
    print(app, &page, &["ID", "NAME"], "no workspaces yet", |workspace| {
        vec![workspace.id.to_string(), printable(&workspace.name)]
    })
}
