use ah_model::Repo;
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
        header: &["ID", "VCS", "BRANCH", "WHERE"],
        empty: "no repositories yet; `ah repo add` records one",
        row: &row,
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_repos(page))?))
}

fn row(repo: &Repo) -> Vec<String> {
    vec![
        repo.id.to_string(),
        repo.found.vcs.to_string(),
        printable(repo.found.default_branch.as_deref().unwrap_or_default()),
        printable(&repo.to_string()),
    ]
}
