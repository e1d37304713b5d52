//! Repositories: where sessions work.
//!
//! A repository is known by its local root, or by its remote URL when there is no local root. Two
//! clones of one remote are two repositories; a directory without version control has vcs `none`.
//! Where one was before, and how it is known again elsewhere, is in [`crate::relocation`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{INDEXED_TEXT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use crate::text::check_optional;
use crate::{Invalid, Timestamp};

/// The version control systems that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Vcs {
    /// Git.
    Git,
    /// Mercurial.
    Hg,
    /// Jujutsu.
    Jj,
    /// Bazaar or Breezy.
    Bzr,
    /// Fossil.
    Fossil,
    /// Pijul.
    Pijul,
    /// Subversion.
    Svn,
    /// A plain directory.
    None,
}

impl Vcs {
    const WORDS: [(Self, &'static str); 8] = [
        (Self::Git, "git"),
        (Self::Hg, "hg"),
        (Self::Jj, "jj"),
        (Self::Bzr, "bzr"),
        (Self::Fossil, "fossil"),
        (Self::Pijul, "pijul"),
        (Self::Svn, "svn"),
        (Self::None, "none"),
    ];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(vcs, _)| *vcs == self).map_or("none", |(_, word)| word)
    }
}

impl FromStr for Vcs {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::WORDS.iter().find(|(_, word)| *word == text);
        found.map(|(vcs, _)| *vcs).ok_or_else(|| {
            let known: Vec<_> = Self::WORDS.iter().map(|(_, word)| *word).collect();
            Invalid::new("vcs", format!("{text:?} is none of {}", known.join(", ")))
        })
    }
}

impl fmt::Display for Vcs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A repository as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("anyOf" = [
        { "properties": { "rootPath": { "type": "string" } }, "required": ["rootPath"] },
        { "properties": { "remoteUrl": { "type": "string" } }, "required": ["remoteUrl"] },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct NewRepo {
    /// Its version control system.
    pub vcs: Vcs,
    /// Absolute path of its root on this machine.
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub root_path: Option<String>,
    /// Where it was cloned from.
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub remote_url: Option<String>,
    /// The branch work starts from.
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub default_branch: Option<String>,
}

impl NewRepo {
    /// Refuses a repository with neither path nor URL, and overlong texts.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.root_path.is_none() && self.remote_url.is_none() {
            return Err(Invalid::new("repo", "neither a root path nor a remote URL is given"));
        }
        check_optional("root path", self.root_path.as_deref(), INDEXED_TEXT_BYTES_MAX)?;
        check_optional("remote URL", self.remote_url.as_deref(), INDEXED_TEXT_BYTES_MAX)?;
        check_optional("default branch", self.default_branch.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// What a repository is known by wherever its directory is. Nothing of it is ever guessed: what is
/// not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RepoMarks {
    /// The system and the oldest root commit: `git:<commit>`, with `+<name>` for a linked worktree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub fingerprint: Option<String>,
    /// Host and path of its remote, the same for every way to reach it: `host/owner/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = INDEXED_TEXT_BYTES_MAX)))]
    pub remote_key: Option<String>,
    /// The machine that its root path is one of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub host: Option<String>,
}

impl RepoMarks {
    /// Refuses overlong texts.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("fingerprint", self.fingerprint.as_deref(), INDEXED_TEXT_BYTES_MAX)?;
        check_optional("remote key", self.remote_key.as_deref(), INDEXED_TEXT_BYTES_MAX)?;
        check_optional("host", self.host.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// A repository the store knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Repo {
    /// The store's number for it.
    pub id: i64,
    /// What it is.
    #[serde(flatten)]
    pub found: NewRepo,
    /// What it is known by elsewhere, as far as anybody looked.
    #[serde(flatten)]
    pub marks: RepoMarks,
    /// When it was first seen.
    pub created_at: Timestamp,
    /// When it came to where it is now, if it was elsewhere before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_at: Option<Timestamp>,
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.found.root_path.as_ref().or(self.found.remote_url.as_ref());
        f.write_str(place.map_or("(nowhere)", |place| place))
    }
}
