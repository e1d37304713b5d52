//! Which repository a directory belongs to, told from files alone.
//!
//! No program is started, but for a fingerprint: a hook runs this on every call, and the tools may not
//! be installed.
//! Invariants: a root is absolute and canonical; a remote URL carries no password or token; a file
//! that is missing, unreadable or odd leaves a field empty and never makes detection fail.

mod files;
pub(crate) mod fingerprint;
mod git;
mod git_config;
mod ini;
mod others;
pub(crate) mod remote_url;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ah_model::limits::SHORT_TEXT_BYTES_MAX;
use ah_model::{NewRepo, Vcs};

/// What marks the root of a repository. In one directory the earlier marker wins: a Jujutsu
/// repository that shares its directory with Git is worked on with Jujutsu.
const MARKERS: [(&str, Vcs); 8] = [
    (".jj", Vcs::Jj),
    (".git", Vcs::Git),
    (".hg", Vcs::Hg),
    (".bzr", Vcs::Bzr),
    (".fslckout", Vcs::Fossil),
    ("_FOSSIL_", Vcs::Fossil),
    (".pijul", Vcs::Pijul),
    (".svn", Vcs::Svn),
];

/// Why no repository can be named.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DetectError {
    /// Neither the directory nor any above it is a repository.
    #[error("no repository found from {} upwards (looked for {})", .start.display(), looked_for())]
    NotFound { start: PathBuf },
    /// The path cannot be looked at.
    #[error("{} cannot be read", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The path given as a repository is a file.
    #[error("{} is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    /// The root cannot be stored as text.
    #[error("path {} is not valid UTF-8", .path.display())]
    NotUtf8 { path: PathBuf },
    /// The URL given as a repository is malformed; it is not shown, as it may hold a password.
    #[error("the repository URL has no readable host")]
    MalformedUrl,
}

/// The root of a repository, before any of its files are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// Its version control system.
    pub(crate) vcs: Vcs,
    /// Absolute and canonical.
    pub(crate) path: PathBuf,
}

/// Finds the repository that `start` is in and reads what its files say of it.
pub(crate) fn detect(start: &Path) -> Result<Option<NewRepo>, DetectError> {
    find_root(start)?.map(|root| root.describe()).transpose()
}

/// As [`detect`], for commands that cannot do without a repository.
pub(crate) fn require(start: &Path) -> Result<NewRepo, DetectError> {
    detect(start)?.ok_or_else(|| DetectError::NotFound { start: start.to_owned() })
}

/// Finds the root above `start` and reads nothing: enough to look for project files.
pub(crate) fn find_root(start: &Path) -> Result<Option<Root>, DetectError> {
    let start = canonical(start)?;
    let found = start.ancestors().find_map(|dir| Some((dir, marker_in(dir)?)));
    Ok(found.map(|(dir, vcs)| Root { vcs, path: topmost(dir, vcs).to_owned() }))
}

/// The repository of a directory without version control.
pub(crate) fn for_directory(path: &Path) -> Result<NewRepo, DetectError> {
    let path = canonical(path)?;
    Root { vcs: Vcs::None, path }.describe()
}

/// The repository a `--repo` flag names: a URL, or a path as seen from `current_dir`.
pub(crate) fn from_flag(value: &str, current_dir: &Path) -> Result<NewRepo, DetectError> {
    if remote_url::is_url(value) {
        return from_url(value);
    }
    let path = canonical(&current_dir.join(value))?;
    if !path.is_dir() {
        return Err(DetectError::NotADirectory { path });
    }
    match detect(&path)? {
        Some(repo) => Ok(repo),
        None => for_directory(&path),
    }
}

fn from_url(url: &str) -> Result<NewRepo, DetectError> {
    let remote_url = remote_url::without_credentials(url).ok_or(DetectError::MalformedUrl)?;
    Ok(NewRepo {
        vcs: Vcs::Git,
        root_path: None,
        remote_url: Some(remote_url),
        default_branch: None,
    })
}

impl Root {
    /// Reads remote and default branch from the repository's files.
    pub(crate) fn describe(&self) -> Result<NewRepo, DetectError> {
        let path = &self.path;
        let text = path.to_str().ok_or_else(|| DetectError::NotUtf8 { path: path.clone() })?;
        let details = match self.vcs {
            Vcs::Git => git::details(path),
            Vcs::Jj => others::jujutsu(path),
            Vcs::Hg => others::mercurial(path),
            Vcs::Bzr => others::bazaar(path),
            Vcs::Fossil => others::fossil(),
            Vcs::Pijul => others::pijul(path),
            Vcs::Svn | Vcs::None => Details::default(),
        };
        let remote_url = details.remote_url.as_deref();
        Ok(NewRepo {
            vcs: self.vcs,
            root_path: Some(text.to_owned()),
            remote_url: remote_url.and_then(remote_url::without_credentials).and_then(storable),
            default_branch: details.default_branch.and_then(storable),
        })
    }
}

/// What the files of a repository say, not yet cleaned.
#[derive(Debug, Default, PartialEq, Eq)]
struct Details {
    remote_url: Option<String>,
    default_branch: Option<String>,
}

fn looked_for() -> String {
    MARKERS.map(|(name, _)| name).join(", ")
}

fn canonical(path: &Path) -> Result<PathBuf, DetectError> {
    path.canonicalize().map_err(|source| DetectError::Unreadable { path: path.to_owned(), source })
}

fn marker_in(dir: &Path) -> Option<Vcs> {
    let found = MARKERS.iter().find(|(name, _)| dir.join(name).exists());
    found.map(|(_, vcs)| *vcs)
}

/// Before 1.7, Subversion had a `.svn` in every directory: the root is the topmost of a chain.
fn topmost(dir: &Path, vcs: Vcs) -> &Path {
    if vcs != Vcs::Svn {
        return dir;
    }
    let chain = dir.ancestors().take_while(|dir| marker_in(dir) == Some(Vcs::Svn));
    chain.last().unwrap_or(dir)
}

/// A value no store would take is as good as none.
fn storable(text: String) -> Option<String> {
    let fits = text.len() <= SHORT_TEXT_BYTES_MAX && !text.contains(char::is_control);
    (fits && !text.is_empty()).then_some(text)
}
