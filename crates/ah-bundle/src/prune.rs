//! Pruning: old snapshots go, heads and what leads to them for a while stay.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use serde::Serialize;

use crate::disk::{Dir, Lock};
use crate::pointer::{Pointer, head_name};
use crate::survey::{Entry, Survey};
use crate::{BundleError, Damage, DryRun, StateDir};

/// What went, or would go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pruned {
    /// The snapshots, by scope, the newest first.
    pub removed: Vec<PrunedFile>,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many valid snapshots stay.
    pub kept: usize,
    /// Damaged files: left alone.
    pub damage: Vec<Damage>,
}

/// A snapshot that went, or would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PrunedFile {
    /// The name of the file.
    pub name: String,
    /// Its scope.
    pub scope: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// What is decided for one scope.
struct Plan<'a> {
    scope: &'a str,
    head: &'a Entry,
    kept: Vec<&'a Entry>,
    removed: Vec<&'a Entry>,
}

impl StateDir {
    /// Keeps the newest `keep` snapshots of every scope: those of the head's chain first. The cut is
    /// recorded in the head, so that the chain that stays is whole.
    pub fn prune(&self, keep: NonZeroUsize, dry_run: DryRun) -> Result<Pruned, BundleError> {
        let dir = self.open()?;
        let lock = match dry_run {
            DryRun::Yes => None,
            DryRun::No => Some(dir.lock()?),
        };
        let survey = Survey::take(&dir, self.bytes_max)?;
        let mut pruned = Pruned { damage: survey.damage().collect(), ..Pruned::default() };
        for scope in survey.scopes() {
            let Some(plan) = plan(&survey, scope, keep.get()) else { continue };
            pruned.add(&plan);
            if let Some(lock) = lock.as_ref().filter(|_| !plan.removed.is_empty()) {
                carry_out(&dir, lock, &survey, &plan)?;
            }
        }
        Ok(pruned)
    }
}

impl Pruned {
    fn add(&mut self, plan: &Plan<'_>) {
        self.kept += plan.kept.len();
        self.bytes += plan.removed.iter().map(|entry| entry.bytes).sum::<u64>();
        self.removed.extend(plan.removed.iter().map(|entry| PrunedFile {
            name: entry.name.clone(),
            scope: plan.scope.to_owned(),
            bytes: entry.bytes,
        }));
    }
}

fn plan<'a>(survey: &'a Survey, scope: &'a str, keep: usize) -> Option<Plan<'a>> {
    let head = survey.head_of(scope).head?;
    let mut order: Vec<&Entry> = survey.chain(head, &survey.by_sha());
    order.retain(|entry| entry.is_valid() && entry.scope == scope);
    let in_chain: BTreeSet<&str> = order.iter().map(|entry| entry.name.as_str()).collect();
    let mut others: Vec<&Entry> =
        survey.of_scope(scope).filter(|entry| !in_chain.contains(entry.name.as_str())).collect();
    others.sort_by(|one, other| other.age().cmp(&one.age()));
    order.extend(others);
    let removed = order.split_off(keep.min(order.len()));
    Some(Plan { scope, head, kept: order, removed })
}

/// Records the cut before anything goes; then the newest goes first, so that whatever is left when
/// this stops has its parent.
fn carry_out(dir: &Dir, lock: &Lock, survey: &Survey, plan: &Plan<'_>) -> Result<(), BundleError> {
    let removed: BTreeSet<&str> = plan.removed.iter().map(|entry| entry.sha.as_str()).collect();
    let before = survey.head(plan.scope).map(|head| head.cut.as_slice()).unwrap_or_default();
    let parents: BTreeSet<&String> = plan.kept.iter().map(|entry| &entry.prev_sha).collect();
    let gone = |sha: &&String| removed.contains(sha.as_str()) || before.contains(sha);
    let head = Pointer {
        path: plan.head.name.clone(),
        sha: plan.head.sha.clone(),
        scope: Some(plan.scope.to_owned()),
        cut: parents.into_iter().filter(gone).cloned().collect(),
    };
    dir.replace(lock, &head_name(plan.scope), head.encode_head().as_bytes())?;
    for entry in &plan.removed {
        dir.remove(&entry.name)?;
    }
    dir.sync()
}
