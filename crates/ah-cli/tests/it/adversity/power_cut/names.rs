//! The names in the directories: durable only after a sync of the directory they stand in.
//!
//! This is stricter than most file systems, which keep changes of names in order. Here each name
//! is by itself in any state it has been in since the last sync; only a rename is one change to
//! both of its names, as POSIX demands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::survival::Survival;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    Directory,
    /// By its number.
    File(usize),
}

/// What names stand for after a change, the name that decides last.
type Change = Vec<(PathBuf, Option<Node>)>;

#[derive(Debug, Default, Clone)]
pub(super) struct Names {
    durable: BTreeMap<PathBuf, Node>,
    /// With the number of the record.
    pending: Vec<(usize, Change)>,
}

impl Names {
    pub(super) fn durable(durable: BTreeMap<PathBuf, Node>) -> Self {
        Self { durable, pending: Vec::new() }
    }

    pub(super) fn set(&mut self, at: usize, path: &Path, node: Option<Node>) {
        self.pending.push((at, vec![(path.to_owned(), node)]));
    }

    pub(super) fn rename(&mut self, at: usize, from: &Path, to: &Path) {
        let node = self.now(from).expect("what is renamed is there");
        self.pending.push((at, vec![(from.to_owned(), None), (to.to_owned(), Some(node))]));
    }

    fn now(&self, path: &Path) -> Option<Node> {
        let changes = self.pending.iter().rev().flat_map(|(_, change)| change);
        let mut newest = changes.filter(|(name, _)| name == path).map(|(_, node)| *node);
        newest.next().unwrap_or_else(|| self.durable.get(path).copied())
    }

    /// Everything recorded in `directory` before `begin` is on the disk.
    pub(super) fn settle(&mut self, directory: &Path, begin: usize) {
        let is_covered = |at: usize, change: &Change| {
            at < begin && change.iter().all(|(name, _)| name.parent() == Some(directory))
        };
        let covered = self.pending.extract_if(.., |(at, change)| is_covered(*at, change));
        for (_, change) in covered {
            apply(&mut self.durable, &change);
        }
    }

    /// What a power cut leaves of them; what stands in a directory that is lost is lost.
    pub(super) fn after_crash(&self, survival: &mut Survival<'_>) -> BTreeMap<PathBuf, Node> {
        let mut changes: BTreeMap<&PathBuf, usize> = BTreeMap::new();
        for (_, change) in &self.pending {
            *changes.entry(decider(change)).or_default() += 1;
        }
        let mut left: BTreeMap<_, _> =
            changes.into_iter().map(|(name, count)| (name, survival.choose(count))).collect();
        let mut names = self.durable.clone();
        for (_, change) in &self.pending {
            let left = left.entry(decider(change)).or_default();
            if *left > 0 {
                *left -= 1;
                apply(&mut names, change);
            }
        }
        let reachable = |name: &PathBuf| {
            name.ancestors()
                .skip(1)
                .all(|above| above == Path::new("") || names.get(above) == Some(&Node::Directory))
        };
        let kept = names.iter().filter(|(name, _)| reachable(name));
        kept.map(|(name, node)| (name.clone(), *node)).collect()
    }
}

/// The name whose fate a change shares.
fn decider(change: &Change) -> &PathBuf {
    &change[change.len() - 1].0
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, change: &Change) {
    for (name, node) in change {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}
