//! Relocation: repositories whose directory is another than it was.
//!
//! A repository that is seen at a new path is one that moved only when exactly one known repository
//! has its marks on the same machine and is no longer at its own path. Everything else is a new one:
//! two live clones are two repositories, and of two that are gone nobody can say which it is.
//! Paths are compared by their components, never by their letters: `/a/bc` is not below `/a/b`.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::limits::{INDEXED_TEXT_BYTES_MAX, REPO_LOOKALIKES_MAX, SHORT_TEXT_BYTES_MAX};
use crate::text::{check_optional, check_text};
use crate::{Invalid, NewRepo, Repo, RepoMarks, Timestamp, Vcs};

/// A repository as it was seen at a path, with what its machine knows of others like it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepoSighting {
    /// What was found.
    #[serde(flatten)]
    pub found: NewRepo,
    /// What it is known by.
    #[serde(flatten)]
    pub marks: RepoMarks,
    /// Root paths of repositories with this fingerprint that are no longer there: who looks on the
    /// machine says so, for no store can see it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = REPO_LOOKALIKES_MAX)))]
    pub gone: Vec<String>,
}

impl RepoSighting {
    /// Refuses one without a path, and overlong texts and lists.
    pub fn check(&self) -> Result<(), Invalid> {
        self.found.check()?;
        self.marks.check()?;
        if self.found.root_path.is_none() {
            return Err(Invalid::new("root path", "a repository is seen somewhere"));
        }
        if self.gone.len() > REPO_LOOKALIKES_MAX {
            let reason = format!("{} paths; at most {REPO_LOOKALIKES_MAX}", self.gone.len());
            return Err(Invalid::new("gone", reason));
        }
        let mut paths = self.gone.iter();
        paths.try_for_each(|path| check_text("gone", path, INDEXED_TEXT_BYTES_MAX))
    }

    /// Whether `row` may be what was seen, at another path: the same fingerprint on the same machine,
    /// and no other remote. Forks have the root commit of what they were forked from.
    fn is_like(&self, row: &Repo) -> bool {
        let other_remote = match (&self.marks.remote_key, &row.marks.remote_key) {
            (Some(seen), Some(known)) => seen != known,
            (Some(_) | None, None) | (None, Some(_)) => false,
        };
        self.marks.fingerprint.is_some()
            && self.marks.fingerprint == row.marks.fingerprint
            && self.marks.host == row.marks.host
            && !other_remote
    }

    /// Which of `rows` was seen.
    pub fn whereabouts<'a>(&self, rows: impl IntoIterator<Item = &'a Repo>) -> Whereabouts {
        let mut like = Vec::new();
        for row in rows {
            if row.found.root_path == self.found.root_path {
                return Whereabouts::Known(row.id);
            }
            let is_gone = row.found.root_path.as_ref().is_some_and(|root| self.gone.contains(root));
            if is_gone && self.is_like(row) {
                like.push(row.id);
            }
        }
        match like.as_slice() {
            [] => Whereabouts::New,
            [one] => Whereabouts::Moved(*one),
            [_, ..] => Whereabouts::Unclear(like),
        }
    }
}

/// Which repository was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// The one that is known at this path.
    Known(i64),
    /// One that was elsewhere.
    Moved(i64),
    /// One that nobody knows.
    New,
    /// Any of these may have moved here, so it is taken for a new one.
    Unclear(Vec<i64>),
}

/// What a sighting came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum RepoFate {
    /// It was known at this path.
    Known,
    /// It was known at another path, which is now one of its former ones.
    Moved {
        /// Where it was.
        from: String,
    },
    /// It is new.
    New,
    /// It is new, though any of these may have moved here.
    Unclear {
        /// Their numbers.
        like: Vec<i64>,
    },
}

/// A repository that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Sighted {
    /// The repository.
    pub repo: Repo,
    /// How it was known.
    #[serde(flatten)]
    pub fate: RepoFate,
}

/// A path where a repository was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepoPath {
    /// The path.
    pub path: String,
    /// The machine, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Since when it was there.
    pub since: Timestamp,
    /// When it was known to be elsewhere.
    pub until: Timestamp,
}

/// Whether a change is made or only told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Earnest {
    /// It is made.
    #[default]
    Change,
    /// It is told what would be changed.
    Plan,
}

/// A directory that was moved, with all repositories and sessions at and below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Relocation {
    /// Where it was.
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub from: String,
    /// Where it is.
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub to: String,
    /// The machine of the new path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub host: Option<String>,
    /// Whether it is done or only told.
    #[serde(default)]
    pub earnest: Earnest,
}

impl Relocation {
    /// Refuses paths that are not absolute, and a move of a directory into itself: done twice, it
    /// would move twice.
    pub fn check(&self) -> Result<(), Invalid> {
        for (field, path) in [("from", &self.from), ("to", &self.to)] {
            check_text(field, path, INDEXED_TEXT_BYTES_MAX)?;
            if components(path).is_empty() {
                return Err(Invalid::new(field, format!("{path:?} names no directory")));
            }
        }
        if is_at_or_below(&self.to, &self.from) {
            let reason = format!("{} is inside {}", self.to, self.from);
            return Err(Invalid::new("to", reason));
        }
        check_optional("host", self.host.as_deref(), SHORT_TEXT_BYTES_MAX)
    }

    /// What every path at or below the directory begins with.
    pub fn from_text(&self) -> &str {
        components(&self.from)
    }

    /// Where `path` is now, if it was at or below the directory; refuses one that would be overlong.
    pub fn moved(&self, field: &'static str, path: &str) -> Result<Option<String>, Invalid> {
        let bytes_max =
            if field == ROOT_PATH { INDEXED_TEXT_BYTES_MAX } else { SHORT_TEXT_BYTES_MAX };
        let moved = moved_path(path, &self.from, &self.to);
        if let Some(moved) = &moved {
            check_text(field, moved, bytes_max)?;
        }
        Ok(moved)
    }
}

/// The field of a repository's path, as errors name it.
pub const ROOT_PATH: &str = "root path";

/// What a relocation changed, or would change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Relocated {
    /// Repositories, by their former path.
    pub repos: Vec<RepoMove>,
    /// Sessions that work elsewhere now or belong to a joined repository.
    pub sessions: u64,
    /// Tasks of those sessions.
    pub tasks: u64,
    /// Drafts for repositories that moved.
    pub drafts: u64,
}

/// A repository that moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepoMove {
    /// Its number, which it keeps.
    pub id: i64,
    /// Where it was.
    pub from: String,
    /// Where it is.
    pub to: String,
    /// The one that was known at the new path: its sessions are now this one's, and it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined: Option<i64>,
}

/// `kept` with what `other`, which is where it moved to, says of the place as it is now.
pub fn joined_repo(kept: &Repo, other: &Repo) -> Repo {
    let (old, new) = (&kept.found, &other.found);
    let found = NewRepo {
        vcs: if new.vcs == Vcs::None { old.vcs } else { new.vcs },
        root_path: new.root_path.clone(),
        remote_url: new.remote_url.clone().or_else(|| old.remote_url.clone()),
        default_branch: new.default_branch.clone().or_else(|| old.default_branch.clone()),
    };
    let (old, new) = (&kept.marks, &other.marks);
    let marks = RepoMarks {
        fingerprint: new.fingerprint.clone().or_else(|| old.fingerprint.clone()),
        remote_key: new.remote_key.clone().or_else(|| old.remote_key.clone()),
        host: new.host.clone().or_else(|| old.host.clone()),
    };
    Repo { found, marks, ..kept.clone() }
}

/// What parts the components of `path`: paths of Windows have no `/` before them.
fn separator(path: &str) -> char {
    if path.starts_with('/') { '/' } else { '\\' }
}

/// `path` without what ends it and means nothing.
fn components(path: &str) -> &str {
    path.trim_end_matches(separator(path))
}

/// Whether `path` is `directory` or below it.
pub fn is_at_or_below(path: &str, directory: &str) -> bool {
    below(path, directory).is_some()
}

/// What `path` has behind `directory`: nothing, or a separator and more.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = components(path).strip_prefix(components(directory))?;
    (rest.is_empty() || rest.starts_with(separator(path))).then_some(rest)
}

/// Where `path` is when the directory `from` is at `to`, if it was at or below it.
pub fn moved_path(path: &str, from: &str, to: &str) -> Option<String> {
    Some(format!("{}{}", components(to), below(path, from)?))
}

/// `path` and the directories above it, nearest first; not the topmost, which is nobody's.
pub fn path_and_above(path: &str) -> impl Iterator<Item = &str> {
    let start = Some(components(path)).filter(|path| !path.is_empty());
    std::iter::successors(start, |path| {
        let (above, _) = path.rsplit_once(separator(path))?;
        Some(above).filter(|above| !above.is_empty())
    })
}
