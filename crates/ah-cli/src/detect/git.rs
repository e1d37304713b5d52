//! Git: remote and default branch from the files of a repository, worktree or submodule.
//!
//! A worktree has a directory of its own for `HEAD`, and shares config and refs through
//! `commondir`; the shared `HEAD` is used, so all worktrees agree on the default branch.

use std::path::{Path, PathBuf};

use super::{Details, files, git_config};

const ORIGIN: &str = "origin";
const USUAL_BRANCHES: [&str; 2] = ["main", "master"];
/// What `HEAD` holds when the refs are in a reftable, which is not read here.
const REFTABLE_HEAD: &str = ".invalid";

/// Details of the repository whose working tree is at `root`.
pub(super) fn details(root: &Path) -> Details {
    match git_dir(&root.join(".git")) {
        Some(git_dir) => details_of(&git_dir),
        None => Details::default(),
    }
}

/// Details of the repository whose Git directory is `git_dir`.
pub(super) fn details_of(git_dir: &Path) -> Details {
    let common = common_dir(git_dir);
    let remote = remote(&common);
    let remote_name = remote.as_ref().map_or(ORIGIN, |(name, _)| name);
    let default_branch = default_branch(&common, remote_name);
    Details { default_branch, remote_url: remote.map(|(_, url)| url) }
}

/// `.git` is a directory, or a file that says where the directory is.
pub(super) fn git_dir(marker: &Path) -> Option<PathBuf> {
    if marker.is_dir() {
        return Some(marker.to_owned());
    }
    let line = files::first_line(marker)?;
    let target = line.strip_prefix("gitdir:")?.trim();
    Some(marker.parent()?.join(target))
}

pub(super) fn common_dir(git_dir: &Path) -> PathBuf {
    match files::first_line(&git_dir.join("commondir")) {
        Some(common) => git_dir.join(common),
        None => git_dir.to_owned(),
    }
}

/// Name and URL of `origin`, else of the first remote.
fn remote(common: &Path) -> Option<(String, String)> {
    let mut remotes = git_config::remotes(&files::text(&common.join("config"))?);
    let origin = remotes.iter().position(|(name, _)| name == ORIGIN);
    let chosen = origin.unwrap_or(0);
    (chosen < remotes.len()).then(|| remotes.swap_remove(chosen))
}

fn default_branch(common: &Path, remote: &str) -> Option<String> {
    let refs = format!("refs/remotes/{remote}/");
    symbolic_ref(&common.join(&refs).join("HEAD"), &refs)
        .or_else(|| symbolic_ref(&common.join("HEAD"), "refs/heads/"))
        .or_else(|| usual_branch(common))
}

/// The branch a `ref: refs/…/branch` file points to, when it points below `prefix`.
fn symbolic_ref(path: &Path, prefix: &str) -> Option<String> {
    let line = files::first_line(path)?;
    let branch = line.strip_prefix("ref:")?.trim().strip_prefix(prefix)?;
    (!branch.is_empty() && branch != REFTABLE_HEAD).then(|| branch.to_owned())
}

fn usual_branch(common: &Path) -> Option<String> {
    let heads = common.join("refs/heads");
    let loose = USUAL_BRANCHES.into_iter().find(|branch| heads.join(branch).is_file());
    loose.or_else(|| usual_packed_branch(common)).map(str::to_owned)
}

/// Lines of `packed-refs` are sorted, so `main` comes before `master`.
fn usual_packed_branch(common: &Path) -> Option<&'static str> {
    files::lines(&common.join("packed-refs")).find_map(|line| {
        let branch = line.split_once(" refs/heads/")?.1;
        USUAL_BRANCHES.into_iter().find(|usual| *usual == branch)
    })
}
