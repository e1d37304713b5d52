//! Where repositories are on this machine: which known one is at a path, and which moved there.
//!
//! The rule is ah-model's. Here is what it is told: what is at a path, and which of the paths that
//! the store names are still what they were. A path that the store knows, with its fingerprint, costs
//! one read and no program.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ah_model::{
    NewRepo, Repo, RepoMarks, RepoSighting, Session, Sighted, Vcs, Whereabouts, is_at_or_below,
    moved_path,
};
use ah_store::{Store, StoreError, block_on};

use crate::detect::fingerprint::{PATIENCE, fingerprint};
use crate::detect::{self, remote_url};
use crate::environment::hostname;
use crate::error::{CommandError, Exit};

/// Whether what is found is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looking {
    /// It is, and Git is waited for so long.
    Records(Duration),
    /// Nothing is.
    Only,
}

/// Notes that `found` is where it is, if the store does not know that yet.
pub(crate) fn record(
    store: &dyn Store,
    found: &NewRepo,
    patience: Duration,
) -> Result<Option<Sighted>, StoreError> {
    match look(store, found, patience)? {
        Looked::New(sighting, _) => block_on(store.see_repo(*sighting)).map(Some),
        Looked::Known(_) | Looked::Nothing => Ok(None),
    }
}

/// The number of the repository that `found` is, without noting anything.
pub(crate) fn known(store: &dyn Store, found: &NewRepo) -> Result<Option<i64>, StoreError> {
    Ok(match look(store, found, PATIENCE)? {
        Looked::Known(id) => Some(id),
        Looked::Nothing => None,
        Looked::New(sighting, like) => match sighting.whereabouts(&like) {
            Whereabouts::Known(id) | Whereabouts::Moved(id) => Some(id),
            Whereabouts::New | Whereabouts::Unclear(_) => None,
        },
    })
}

/// What is to be said of a path.
enum Looked {
    /// It is this repository's, and all is known of it.
    Known(i64),
    /// It has no fingerprint, and no row.
    Nothing,
    /// It has a fingerprint that is news, and these are like it.
    New(Box<RepoSighting>, Vec<Repo>),
}

fn look(store: &dyn Store, found: &NewRepo, patience: Duration) -> Result<Looked, StoreError> {
    let Some(root) = found.root_path.clone() else { return Ok(Looked::Nothing) };
    let here = block_on(store.repo_at(root))?;
    let here = here.filter(|repo| repo.found.root_path == found.root_path);
    let known = here.as_ref().map_or(Looked::Nothing, |repo| Looked::Known(repo.id));
    if here.as_ref().is_some_and(|repo| repo.marks.fingerprint.is_some()) {
        return Ok(known);
    }
    let Some(print) = fingerprint(found, patience) else { return Ok(known) };
    let mut like = block_on(store.repos_like(print.clone()))?;
    let gone = like.iter().filter(|repo| is_gone(repo, &print, patience));
    let gone = gone.filter_map(|repo| repo.found.root_path.clone()).collect();
    like.extend(here);
    let remote_key = found.remote_url.as_deref().and_then(remote_url::key);
    let marks = RepoMarks { fingerprint: Some(print), remote_key, host: hostname() };
    Ok(Looked::New(Box::new(RepoSighting { found: found.clone(), marks, gone }), like))
}

/// Whether a repository with that fingerprint is no longer where the store has it. One whose history
/// was written anew is still there: it has its remote.
fn is_gone(repo: &Repo, print: &str, patience: Duration) -> bool {
    let Some(root) = repo.found.root_path.as_deref() else { return false };
    let root = Path::new(root);
    match detect::find_root(root) {
        Ok(Some(now)) if now.path == root => {
            let Ok(now) = now.describe() else { return false };
            let now_key = now.remote_url.as_deref().and_then(remote_url::key);
            let same_remote = now_key.is_some() && now_key == repo.marks.remote_key;
            let other = fingerprint(&now, patience).is_some_and(|other| other != print);
            other && !same_remote
        }
        Ok(_) => true,
        // What cannot be looked at may be there.
        Err(_) => !matches!(root.try_exists(), Ok(true) | Err(_)),
    }
}

/// The repository of a directory that a tool worked in: the one around it; where the directory is
/// gone, the one that was there; else the directory itself.
pub(crate) fn repo_of(store: &dyn Store, dir: &Path, looking: Looking) -> NewRepo {
    let text = dir.to_string_lossy().into_owned();
    let found = if dir.is_absolute() { detect::detect(dir).ok().flatten() } else { None };
    if let Some(found) = found {
        if let Looking::Records(patience) = looking {
            // What cannot be noted now is noted by the next one who looks.
            let _ = record(store, &found, patience);
        }
        return found;
    }
    let was_there = match dir.is_dir() {
        true => None,
        false => block_on(store.repo_at(text.clone())).ok().flatten(),
    };
    was_there.map_or_else(|| plain(text), |repo| repo.found)
}

fn plain(path: String) -> NewRepo {
    NewRepo { vcs: Vcs::None, root_path: Some(path), remote_url: None, default_branch: None }
}

/// The directory of a session as it is now: where it was said to be, or where that moved to.
pub(crate) fn present_dir(store: &dyn Store, session: &Session) -> Result<PathBuf, CommandError> {
    let said = session.details.project_dir.as_ref().or(session.repo.root_path.as_ref());
    let Some(dir) = said else {
        let message = format!("session {} has no directory", session.id);
        return Err(CommandError::new(Exit::NotFound, message));
    };
    if Path::new(dir).is_dir() {
        return Ok(PathBuf::from(dir));
    }
    let mut repos = Vec::from_iter(block_on(store.repo_at(dir.clone()))?);
    if let Some(id) = session.repo_id {
        repos.push(block_on(store.repo(id))?);
    }
    for repo in repos {
        let Some(root) = &repo.found.root_path else { continue };
        let former = block_on(store.repo_paths(repo.id))?;
        let was = former.iter().filter(|was| is_at_or_below(dir, &was.path));
        let now = was.filter_map(|was| moved_path(dir, &was.path, root)).map(PathBuf::from);
        if let Some(now) = now.into_iter().find(|now| now.is_dir()) {
            return Ok(now);
        }
    }
    let message = format!("{dir}, where session {} worked, is gone", session.id);
    Err(CommandError::new(Exit::NotFound, message)
        .hint(format!("`ah repo relocate {dir} NEW` says where it is now")))
}
