//! Which executor gets which run. Pure: the same runs and executors give the same answer.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use ah_model::{Executor, Run, RunId, may_take};

use super::ConnectionId;
use super::presence::Quality;

/// Somebody who could take runs.
#[derive(Debug)]
pub struct Candidate<'a> {
    /// Its connection.
    pub connection: ConnectionId,
    /// What the store has of it.
    pub executor: &'a Executor,
    /// How many it could take.
    pub room: u32,
    /// How good its connection is.
    pub quality: Quality,
    /// Runs it would not take.
    pub avoid: &'a BTreeMap<RunId, u64>,
}

/// Gives each run, oldest first, to the best of those that may take it: who held it before, then a
/// good connection, then the most room. Among equals it differs from run to run, so that no executor
/// is always first.
pub fn place(runs: &[Run], candidates: &[Candidate<'_>]) -> Vec<(RunId, ConnectionId)> {
    let mut room: Vec<u32> = candidates.iter().map(|candidate| candidate.room).collect();
    let mut placed = Vec::new();
    for run in runs {
        let best = candidates.iter().zip(&room).enumerate().filter(|(_, (candidate, room))| {
            **room > 0
                && candidate.quality != Quality::Bad
                && !candidate.avoid.contains_key(&run.id)
                && may_take(candidate.executor, &candidate.executor.offer, run).is_ok()
        });
        let best = best.max_by_key(|(_, (candidate, room))| rank(run, candidate, **room));
        let Some((place, (candidate, _))) = best else { continue };
        placed.push((run.id.clone(), candidate.connection));
        if let Some(room) = room.get_mut(place) {
            *room -= 1;
        }
    }
    placed
}

/// What is better comes last.
fn rank(run: &Run, candidate: &Candidate<'_>, room: u32) -> (bool, bool, u32, u64) {
    let was_its_own = run.executor_id.as_ref() == Some(&candidate.executor.id);
    let mut hasher = DefaultHasher::new();
    (run.id.as_str(), candidate.executor.id.as_str()).hash(&mut hasher);
    (was_its_own, candidate.quality == Quality::Good, room, hasher.finish())
}
