//! `ah repo`: repositories that sessions work in.

mod add;
mod detect;
mod list;
mod remove;

use ah_model::{NewRepo, PageLimit, PageRequest, Repo};
use ah_store::{Store, block_on};
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the repository around the current directory, without recording it
    Detect(Lazy<detect::Args>),
    /// List the repositories that are known
    List(Lazy<list::Args>),
    /// Record a repository
    Add(Lazy<add::Args>),
    /// Forget a repository that has no sessions
    Remove(Lazy<remove::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Detect(args) => detect::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Add(args) => add::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
    }
}

/// The number of a repository that is recorded: by its root, or by its URL when it has none.
pub(crate) fn known(store: &dyn Store, wanted: &NewRepo) -> Result<Option<i64>, CommandError> {
    find(store, |repo| match &wanted.root_path {
        Some(_) => repo.found.root_path == wanted.root_path,
        None => repo.found.root_path.is_none() && repo.found.remote_url == wanted.remote_url,
    })
}

/// The number of the first recorded repository that `is_it`.
fn find(store: &dyn Store, is_it: impl Fn(&Repo) -> bool) -> Result<Option<i64>, CommandError> {
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let page = block_on(store.list_repos(request.clone()))?;
        match (page.items.iter().find(|repo| is_it(repo)), page.next_cursor) {
            (Some(repo), _) => return Ok(Some(repo.id)),
            (None, Some(cursor)) => request.cursor = Some(cursor),
            (None, None) => return Ok(None),
        }
    }
}
