use ah_model::{Repo, RepoPath};
use ah_store::{Kind, StoreError, block_on};
use serde::Serialize;

use super::{is_missing, resolve};
use crate::app::App;
use crate::error::CommandError;
use crate::output::fields;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its number, a path where it is or was, or its URL
    #[arg(value_name = "ID|PATH|URL")]
    place: String,
}

/// A repository with where it was.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(flatten)]
    repo: Repo,
    /// Whether its directory should be on this machine and is not.
    missing: bool,
    /// Newest first.
    former_paths: Vec<RepoPath>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = resolve(app, &*store, &args.place)?;
    let id = id.ok_or_else(|| StoreError::not_found(Kind::Repo, &args.place))?;
    let repo = block_on(store.repo(id))?;
    let former_paths = block_on(store.repo_paths(id))?;
    let missing = is_missing(app, &repo);
    app.output.result(&Shown { repo, missing, former_paths }, human)?;
    if missing {
        app.output.talk(&format!("`ah repo relocate {id} NEW` says where it is now"));
    }
    Ok(())
}

fn human(shown: &Shown) -> String {
    let Shown { repo, missing, former_paths } = shown;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let missing = if *missing { " (missing)" } else { "" };
    let mut pairs = vec![
        ("id", repo.id.to_string()),
        ("vcs", repo.found.vcs.to_string()),
        (
            "root",
            repo.found.root_path.as_ref().map(|p| format!("{p}{missing}")).unwrap_or_default(),
        ),
        ("host", text(&repo.marks.host)),
        ("remote", text(&repo.found.remote_url)),
        ("default branch", text(&repo.found.default_branch)),
        ("fingerprint", text(&repo.marks.fingerprint)),
        ("first seen", repo.created_at.to_string()),
        ("moved", repo.moved_at.map(|at| at.to_string()).unwrap_or_default()),
    ];
    let was = |was: &RepoPath| ("was at", format!("{} until {}", was.path, was.until));
    pairs.extend(former_paths.iter().map(was));
    fields(&pairs)
}
