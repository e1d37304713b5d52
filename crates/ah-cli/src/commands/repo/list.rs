use std::cell::Cell;

use ah_model::Repo;
use ah_store::block_on;

use super::is_missing;
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
    let missing = Cell::new(false);
    let look = Look {
        header: &["ID", "VCS", "BRANCH", "WHERE"],
        empty: "no repositories yet; `ah repo add` records one",
        row: &|repo| row(app, repo, &missing),
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_repos(page))?))?;
    if missing.get() {
        app.output.talk("of those missing, `ah repo relocate OLD NEW` says where they are now");
    }
    Ok(())
}

fn row(app: &App, repo: &Repo, missing: &Cell<bool>) -> Vec<String> {
    let mut place = printable(&repo.to_string());
    if is_missing(app, repo) {
        missing.set(true);
        place.push_str(" (missing)");
    }
    vec![
        repo.id.to_string(),
        repo.found.vcs.to_string(),
        printable(repo.found.default_branch.as_deref().unwrap_or_default()),
        place,
    ]
}
