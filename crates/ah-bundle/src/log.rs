//! The history of a scope, from its head back.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::disk::Dir;
use crate::json::Path;
use crate::resolve::resolve;
use crate::snapshot::{Snapshot, is_snapshot_name, short_sha};
use crate::{BundleError, Damage, StateDir, diff};

/// The chain of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Log {
    /// The scope.
    pub scope: String,
    /// Its snapshots, the newest first.
    pub entries: Vec<LogEntry>,
    /// Why it goes no further back.
    pub end: ChainEnd,
    /// What was passed over to find the head.
    pub damage: Vec<Damage>,
}

/// One snapshot of a chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// The name of the file.
    pub name: String,
    /// The hash of its bytes.
    pub sha: String,
    /// When it was saved.
    pub created_at: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// What it changed of its parent, but for what every save changes.
    pub changed: Vec<Path>,
}

/// Why a chain ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ChainEnd {
    /// The last one has no parent.
    Root,
    /// What came before was pruned.
    Pruned {
        /// The hash of the parent.
        sha: String,
    },
    /// The parent is not there.
    Missing {
        /// The hash of the parent.
        sha: String,
    },
    /// The parent is one of its own descendants.
    Loop {
        /// The hash of the parent.
        sha: String,
    },
}

impl StateDir {
    /// The chain of a scope from its head back, each link checked by the hash of the bytes.
    pub fn log(&self, scope: &str) -> Result<Log, BundleError> {
        let dir = self.open()?;
        let resolved = resolve(&dir, scope, self.bytes_max)?;
        let cut = resolved.cut.clone();
        let loaded = self.found(&dir, scope, resolved)?;
        let parents = Parents { names: dir.names()?, dir: &dir, bytes_max: self.bytes_max };
        let mut log = Log {
            scope: scope.to_owned(),
            entries: Vec::new(),
            end: ChainEnd::Root,
            damage: loaded.damage,
        };
        let mut seen = BTreeSet::new();
        let mut snapshot = loaded.snapshot;
        loop {
            seen.insert(snapshot.sha.clone());
            let sha = snapshot.bundle.prev_sha.clone();
            let parent = if seen.contains(&sha) { None } else { parents.find(&sha) };
            log.entries.push(entry(&snapshot, parent.as_ref()));
            let Some(parent) = parent else {
                log.end = match sha {
                    sha if sha.is_empty() => ChainEnd::Root,
                    sha if seen.contains(&sha) => ChainEnd::Loop { sha },
                    sha if cut.contains(&sha) => ChainEnd::Pruned { sha },
                    sha => ChainEnd::Missing { sha },
                };
                return Ok(log);
            };
            snapshot = parent;
        }
    }
}

/// The snapshots of a directory, to be found by hash.
struct Parents<'a> {
    names: Vec<String>,
    dir: &'a Dir,
    bytes_max: u64,
}

impl Parents<'_> {
    /// The snapshot with that hash. Only those whose name gives the beginning of it are read, or
    /// gives nothing.
    fn find(&self, sha: &str) -> Option<Snapshot> {
        if sha.is_empty() {
            return None;
        }
        let fits = |name: &str| match short_sha(name) {
            Some(short) => sha.starts_with(&short),
            None => is_snapshot_name(name),
        };
        let candidates = self.names.iter().filter(|name| fits(name));
        let mut read = candidates
            .filter_map(|name| Snapshot::read(self.dir, name, Some(sha), self.bytes_max).ok());
        read.next()
    }
}

fn entry(snapshot: &Snapshot, parent: Option<&Snapshot>) -> LogEntry {
    let changes = parent.map(|parent| diff(&parent.bundle, &snapshot.bundle)).unwrap_or_default();
    let changed = changes
        .into_iter()
        .map(|change| change.path)
        .filter(|path| !["created_at", "prev_sha"].contains(&path.to_string().as_str()));
    LogEntry {
        name: snapshot.name.clone(),
        sha: snapshot.sha.clone(),
        created_at: snapshot.bundle.created_at.clone(),
        bytes: snapshot.bytes,
        changed: changed.collect(),
    }
}
