use ah_model::Workspace;
use ah_store::block_on;

use crate::app::App;
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
        header: &["ID", "NAME"],
        empty: "no workspaces yet; `ah workspace create NAME` makes one",
        row: &|workspace: &Workspace| vec![workspace.id.to_string(), printable(&workspace.name)],
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_workspaces(page))?))
}
