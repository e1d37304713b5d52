//! Version control systems other than Git: what a file can tell of remote and default branch.
//!
//! Fossil and Subversion keep theirs in databases; those are not read.

use std::path::{Path, PathBuf};

use super::{Details, files, git, ini};

/// Mercurial: `[paths] default`, and the branch of the working directory.
pub(super) fn mercurial(root: &Path) -> Details {
    let hg = root.join(".hg");
    let hgrc = files::text(&hg.join("hgrc"));
    let remote_url = hgrc.as_deref().and_then(|text| ini::value(text, "paths", "default"));
    let branch = files::first_line(&hg.join("branch"));
    Details {
        remote_url: remote_url.map(str::to_owned),
        default_branch: Some(branch.unwrap_or_else(|| "default".to_owned())),
    }
}

/// Jujutsu: whatever the Git repository behind it says.
pub(super) fn jujutsu(root: &Path) -> Details {
    let store = jujutsu_repo(&root.join(".jj")).join("store");
    match files::first_line(&store.join("git_target")) {
        Some(target) => git::details_of(&store.join(target)),
        None => Details::default(),
    }
}

/// In a second workspace `.jj/repo` is a file that holds the path of the first one's.
fn jujutsu_repo(jj: &Path) -> PathBuf {
    let repo = jj.join("repo");
    match files::first_line(&repo) {
        Some(target) => jj.join(target),
        None => repo,
    }
}

/// Bazaar: the branch it was branched from. A branch is a directory, so it has no name.
pub(super) fn bazaar(root: &Path) -> Details {
    let conf = files::text(&root.join(".bzr/branch/branch.conf"));
    let parent = conf.as_deref().and_then(|text| ini::value(text, "", "parent_location"));
    Details { remote_url: parent.map(str::to_owned), default_branch: None }
}

/// Fossil: every repository starts on `trunk`.
pub(super) fn fossil() -> Details {
    Details { remote_url: None, default_branch: Some("trunk".to_owned()) }
}

/// Pijul: its default remote; every repository starts on channel `main`.
pub(super) fn pijul(root: &Path) -> Details {
    let config = files::text(&root.join(".pijul/config"));
    let remote = config.as_deref().and_then(|text| ini::value(text, "", "default_remote"));
    Details {
        remote_url: remote.map(|quoted| quoted.trim_matches(['"', '\'']).to_owned()),
        default_branch: Some("main".to_owned()),
    }
}
