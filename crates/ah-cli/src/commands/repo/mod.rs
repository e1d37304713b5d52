//! `ah repo`: repositories that sessions work in.

mod add;
mod detect;
mod list;
mod relocate;
mod remove;
mod show;

use std::path::Path;

use ah_model::{PageLimit, PageRequest, Repo};
use ah_store::{Store, block_on};
use clap::Subcommand;

use crate::app::App;
use crate::detect::{from_flag, remote_url};
use crate::error::{CommandError, Exit};
use crate::lazy::Lazy;
use crate::{environment, whereabouts};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the repository around the current directory, without recording it
    Detect(Lazy<detect::Args>),
    /// List the repositories that are known
    List(Lazy<list::Args>),
    /// Show a repository: where it is, where it was, what it is known by
    Show(Lazy<show::Args>),
    /// Say that a directory was moved: repositories and sessions at and below it follow
    Relocate(Lazy<relocate::Args>),
    /// Record a repository
    Add(Lazy<add::Args>),
    /// Forget a repository that has no sessions
    Remove(Lazy<remove::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Detect(args) => detect::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Relocate(args) => relocate::run(app, &args),
        Command::Add(args) => add::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
    }
}

/// The number of the repository that `--repo` names, or that is around the current directory; none
/// when it is not recorded.
pub(crate) fn wanted(app: &App, store: &dyn Store) -> Result<Option<i64>, CommandError> {
    match &app.global.repo {
        Some(place) => resolve(app, store, place),
        None => Ok(whereabouts::known(store, &app.repo_or_directory()?)?),
    }
}

/// The number of the repository that `place` names: its number, a path where it is or was, or any
/// address of its remote.
pub(super) fn resolve(
    app: &App,
    store: &dyn Store,
    place: &str,
) -> Result<Option<i64>, CommandError> {
    let current = app.current_dir()?;
    if remote_url::is_url(place) {
        let url = from_flag(place, current)?.remote_url;
        return of_remote(store, url.as_deref().unwrap_or(place));
    }
    let path = current.join(place);
    if path.exists() {
        return Ok(whereabouts::known(store, &from_flag(place, current)?)?);
    }
    if let Ok(id) = place.parse() {
        return Ok(Some(block_on(store.repo(id))?.id));
    }
    let gone = relocate::real_path(&path);
    match block_on(store.repo_at(gone.to_string_lossy().into_owned()))? {
        Some(repo) => Ok(Some(repo.id)),
        // The path is what is wrong.
        None => from_flag(place, current).map(|_| None).map_err(Into::into),
    }
}

/// The repository with that remote: one that is known by it alone, else the only clone.
fn of_remote(store: &dyn Store, url: &str) -> Result<Option<i64>, CommandError> {
    let alone = |repo: &Repo| {
        repo.found.root_path.is_none() && repo.found.remote_url.as_deref() == Some(url)
    };
    let key = remote_url::key(url);
    let like = |repo: &Repo| {
        let known = repo.found.remote_url.as_deref();
        known == Some(url) || key.is_some() && known.and_then(remote_url::key) == key
    };
    if let Some(repo) = find(store, alone)?.pop() {
        return Ok(Some(repo.id));
    }
    let found = find(store, like)?;
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.id)),
        [one, other, ..] => {
            let message = format!("{url} has several clones, {one} and {other} among them");
            Err(CommandError::new(Exit::Conflict, message).hint("name one by its path or number"))
        }
    }
}

/// The recorded repositories that `are_it`.
fn find(store: &dyn Store, are_it: impl Fn(&Repo) -> bool) -> Result<Vec<Repo>, CommandError> {
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut found = Vec::new();
    loop {
        let page = block_on(store.list_repos(request.clone()))?;
        found.extend(page.items.into_iter().filter(|repo| are_it(repo)));
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => return Ok(found),
        }
    }
}

/// Whether the directory of `repo` should be on this machine and is not.
pub(super) fn is_missing(app: &App, repo: &Repo) -> bool {
    let is_here = match &repo.marks.host {
        Some(host) => environment::hostname().as_ref() == Some(host),
        // Of rows from before only a database of one's own says that they are of this machine.
        None => app.config().is_ok_and(|config| matches!(config.remote_server(), Ok(None))),
    };
    let root = repo.found.root_path.as_deref().map(Path::new);
    is_here && root.is_some_and(|root| matches!(root.try_exists(), Ok(false)))
}
