use ah_store::{Repos, block_on};

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
    let page = block_on(app.store()?.list_repos(args.paging.request()?))?;
    let empty = "no repositories yet; `ah repo add` records one";
    print(app, &page, &["ID", "VCS", "BRANCH", "WHERE"], empty, |repo| {
        vec![
            repo.id.to_string(),
            repo.found.vcs.to_string(),
            repo.found.default_branch.clone().unwrap_or_default(),
            printable(&repo.to_string()),
        ]
    })
}
