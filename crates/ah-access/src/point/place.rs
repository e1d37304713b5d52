//! Which executor gets which run. Pure: the same runs and executors give the same answer.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ah_model::{Executor, Quality, Run, RunId, SessionId, may_take};

use super::ConnectionId;

/// Somebody who could take runs.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Its connection.
    pub connection: ConnectionId,
    /// What the store has of it.
    pub executor: &'a Executor,
    /// How many it could take. A run that only holds it for a fleet needs no room.
    pub room: u32,
    /// The sessions whose fleets it is in: it is no second member of one.
    pub fleets: BTreeSet<&'a SessionId>,
    /// How good its connection is.
    pub quality: Quality,
    /// Runs it would not take.
    pub avoid: &'a BTreeMap<RunId, u64>,
}

/// Gives each run, oldest first, to the best of those that may take it: who held it before, then a
/// good connection, then the most room. Among equals it differs from run to run, so that no executor
/// is always first.
pub fn place<'a>(runs: &'a [Run], candidates: &[Candidate<'a>]) -> Vec<(&'a Run, ConnectionId)> {
    let mut left: Vec<Left<'_>> = candidates.iter().map(Left::of).collect();
    let mut placed = Vec::new();
    for run in runs {
        let is_hold = run.is_hold();
        let best = candidates.iter().zip(&left).enumerate().filter(|(_, (candidate, left))| {
            left.has_place(run, is_hold)
                && candidate.quality != Quality::Bad
                && !candidate.avoid.contains_key(&run.id)
                && may_take(candidate.executor, &candidate.executor.offer, run).is_ok()
        });
        let best = best.max_by_key(|(_, (candidate, left))| rank(run, candidate, left.room));
        let Some((place, (candidate, _))) = best else { continue };
        placed.push((run, candidate.connection));
        if let Some(left) = left.get_mut(place) {
            left.take(run, is_hold);
        }
    }
    placed
}

/// What an executor could take besides what was given to it in this round.
struct Left<'a> {
    room: u32,
    fleets: BTreeSet<&'a SessionId>,
}

impl<'a> Left<'a> {
    fn of(candidate: &Candidate<'a>) -> Self {
        Self { room: candidate.room, fleets: candidate.fleets.clone() }
    }

    fn has_place(&self, run: &Run, is_hold: bool) -> bool {
        if is_hold { !self.fleets.contains(&run.session_id) } else { self.room > 0 }
    }

    fn take(&mut self, run: &'a Run, is_hold: bool) {
        match is_hold {
            true => drop(self.fleets.insert(&run.session_id)),
            false => self.room -= 1,
        }
    }
}

/// What is better comes last.
fn rank(run: &Run, candidate: &Candidate<'_>, room: u32) -> (bool, bool, u32, u64) {
    let was_its_own = run.executor_id.as_ref() == Some(&candidate.executor.id);
    let mut hasher = DefaultHasher::new();
    (run.id.as_str(), candidate.executor.id.as_str()).hash(&mut hasher);
    (was_its_own, candidate.quality == Quality::Good, room, hasher.finish())
}
