//! Verifying: every file, every link of every chain, every pointer.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::pointer::{LATEST, head_name};
use crate::spare::is_spare_name;
use crate::survey::{BySha, Entry, Survey};
use crate::{BundleError, Damage, StateDir};

/// The state of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// No file is damaged, no pointer is wrong, no link is broken. Notes do not count.
    pub ok: bool,
    /// How many snapshots there are, damaged ones included.
    pub snapshots: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// The scopes and where they stand.
    pub scopes: Vec<ScopeReport>,
    /// Files that cannot be used, and why.
    pub damage: Vec<Damage>,
    /// Links that lead nowhere.
    pub broken: Vec<BrokenLink>,
    /// What is unusual, but loses nothing.
    pub notes: Vec<Note>,
    /// Names of what does not belong here.
    pub foreign: Vec<String>,
}

/// Where a scope stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeReport {
    /// The scope.
    pub scope: String,
    /// The snapshot it stands at.
    pub head: String,
    /// Valid snapshots of the scope.
    pub snapshots: usize,
    /// Those of them in the chain of the head.
    pub chain: usize,
}

/// A link to a parent that is not there or cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BrokenLink {
    /// The snapshot with the link.
    pub file: String,
    /// The hash it names.
    pub prev_sha: String,
    /// The file that should have that hash, if one is called so.
    pub parent: Option<String>,
}

/// Something unusual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Note {
    /// A snapshot is not newer than its parent, as the original writes within a second.
    TimeNotIncreasing {
        /// The snapshot.
        file: String,
        /// Its parent.
        parent: String,
    },
    /// A chain ends here, and no head leads to it: a save that was cut short, or the original's.
    Orphan {
        /// Its newest snapshot.
        file: String,
        /// Its scope.
        scope: String,
    },
    /// Several snapshots have the same parent.
    Fork {
        /// The parent.
        parent: String,
        /// Its children.
        children: Vec<String>,
    },
    /// A head is behind what its scope stands at.
    HeadLags {
        /// The scope.
        scope: String,
        /// What the head names.
        head: String,
        /// Where the scope stands.
        newest: String,
    },
    /// A scope has no head of its own yet, as in a directory of the original.
    NoHead {
        /// The scope.
        scope: String,
    },
}

impl StateDir {
    /// Reads and hashes everything once and follows every link. Writes nothing.
    pub fn verify(&self) -> Result<Report, BundleError> {
        let dir = self.open()?;
        Ok(report(&Survey::take(&dir, self.bytes_max)?))
    }
}

/// What a survey shows.
pub(crate) fn report(survey: &Survey) -> Report {
    let by_sha = survey.by_sha();
    let mut damage: Vec<Damage> = survey.damage().collect();
    damage.extend(survey.pointers().filter_map(|file| {
        survey.pointer_problem(file).map(|problem| Damage::new(&file.name, problem))
    }));
    let broken = broken_links(survey, &by_sha);
    let mut notes = time_notes(survey, &by_sha);
    notes.extend(forks(survey, &by_sha));
    let mut scopes = Vec::new();
    for scope in survey.scopes() {
        if let Some(head) = survey.head_of(scope).head {
            scopes.push(scope_report(survey, scope, head, &by_sha, &mut notes));
        }
    }
    Report {
        ok: damage.is_empty() && broken.is_empty(),
        snapshots: survey.entries.len(),
        bytes: survey.entries.values().map(|entry| entry.bytes).sum(),
        scopes,
        damage,
        broken,
        notes,
        foreign: survey.foreign.iter().filter(|name| !is_ours(name)).cloned().collect(),
    }
}

fn scope_report(
    survey: &Survey,
    scope: &str,
    head: &Entry,
    by_sha: &BySha<'_>,
    notes: &mut Vec<Note>,
) -> ScopeReport {
    let chain: BTreeSet<&str> = survey
        .chain(survey.entries.get(&head.name).unwrap_or(head), by_sha)
        .iter()
        .filter(|entry| entry.is_valid())
        .map(|entry| entry.name.as_str())
        .collect();
    for tip in survey.tips(scope).iter().filter(|tip| !chain.contains(tip.name.as_str())) {
        notes.push(Note::Orphan { file: tip.name.clone(), scope: scope.to_owned() });
    }
    match survey.head(scope) {
        Some(said) if said.path == head.name => {}
        Some(said) => notes.push(Note::HeadLags {
            scope: scope.to_owned(),
            head: said.path.clone(),
            newest: head.name.clone(),
        }),
        None if survey.heads.iter().any(|file| file.name == head_name(scope)) => {}
        None => notes.push(Note::NoHead { scope: scope.to_owned() }),
    }
    ScopeReport {
        scope: scope.to_owned(),
        head: head.name.clone(),
        snapshots: survey.of_scope(scope).count(),
        chain: chain.len(),
    }
}

/// A link is whole when it names a valid snapshot of the same scope, or one that was pruned.
fn broken_links(survey: &Survey, by_sha: &BySha<'_>) -> Vec<BrokenLink> {
    let cut: BTreeSet<&str> = survey
        .heads
        .iter()
        .filter_map(|file| file.said.as_ref().ok())
        .flat_map(|said| said.cut.iter().map(String::as_str))
        .collect();
    let linked = survey.valid().filter(|entry| !entry.prev_sha.is_empty());
    let broken = linked.filter(|entry| {
        let parent = by_sha.get(&entry.prev_sha);
        let whole = parent.is_some_and(|parent| parent.is_valid() && parent.scope == entry.scope);
        !whole && !cut.contains(entry.prev_sha.as_str())
    });
    let link = |entry: &Entry| BrokenLink {
        file: entry.name.clone(),
        prev_sha: entry.prev_sha.clone(),
        parent: by_sha.get(&entry.prev_sha).map(|parent| parent.name.clone()),
    };
    broken.map(link).collect()
}

fn time_notes(survey: &Survey, by_sha: &BySha<'_>) -> Vec<Note> {
    let links = survey.valid().filter_map(|entry| Some((entry, by_sha.get(&entry.prev_sha)?)));
    let links = links.filter(|(_, parent)| parent.is_valid());
    let wrong = links.filter(|(entry, parent)| entry.created_at <= parent.created_at);
    wrong
        .map(|(entry, parent)| Note::TimeNotIncreasing {
            file: entry.name.clone(),
            parent: parent.name.clone(),
        })
        .collect()
}

fn forks(survey: &Survey, by_sha: &BySha<'_>) -> Vec<Note> {
    let mut children: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in survey.valid() {
        if let Some(parent) = by_sha.get(&entry.prev_sha) {
            children.entry(parent.name.as_str()).or_default().push(entry.name.clone());
        }
    }
    let forked = children.into_iter().filter(|(_, children)| children.len() > 1);
    forked.map(|(parent, children)| Note::Fork { parent: parent.to_owned(), children }).collect()
}

/// Files that the writer makes beside snapshots and pointers.
pub(crate) fn is_ours(name: &str) -> bool {
    name == ".lock" || name == LATEST || name.starts_with(".tmp-ah-") || is_spare_name(name)
}
