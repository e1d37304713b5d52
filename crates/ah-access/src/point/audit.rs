//! Comparing memory with the store, executor by executor, and mending what differs.
//!
//! What differs may only be on its way: it is mended when two comparisons in a row found it.

use ah_model::{Executor, ExecutorStatus, RawJson, Run};
use ah_store::StoreError;

use super::input::{ConnectionId, Output};
use super::work::Work;
use super::{Point, Presence};
use crate::frame::{GoodbyeReason, Held};
use crate::moment::Moment;

impl Point {
    pub(super) fn audit_if_due(&mut self, now: Moment, id: ConnectionId) {
        let Some(presence) = self.presence(id) else { return };
        if presence.audit_ms.is_some_and(|at| now.is_past(at)) {
            self.audit(id);
        }
    }

    pub(super) fn audit(&mut self, id: ConnectionId) {
        let Some(presence) = self.presence_mut(id) else { return };
        if presence.audit_ms.take().is_none() {
            return;
        }
        let executor = presence.executor.id.clone();
        self.out.push(Output::Work(Work::Audit { connection: id, executor }));
    }

    pub(super) fn audited(
        &mut self,
        now: Moment,
        id: ConnectionId,
        result: Result<(Executor, Vec<Run>), StoreError>,
    ) {
        let audit_ms = self.options.audit_ms;
        let again_ms = self.options.connection.heartbeat_ms;
        let Some(presence) = self.presence_mut(id) else { return };
        let (executor, runs) = match result {
            Ok(found) => found,
            Err(StoreError::NotFound { .. }) => {
                let detail = "it was removed; enrol it again";
                return self.say_goodbye(id, GoodbyeReason::Revoked, detail);
            }
            Err(_) => {
                presence.audit_ms = Some(now.ms + again_ms);
                return;
            }
        };
        if executor.generation != presence.executor.generation {
            // It came again, here or to another access point.
            return self.say_goodbye(id, GoodbyeReason::Replaced, "a newer connection counts");
        }
        if let ExecutorStatus::Disabled | ExecutorStatus::Revoked = executor.status {
            let detail = format!("it is {} now", executor.status.as_str());
            return self.say_goodbye(id, GoodbyeReason::Revoked, &detail);
        }
        let differs = presence.compare(&runs);
        let (certain, suspects): (Vec<Held>, Vec<Held>) =
            differs.into_iter().partition(|held| presence.suspects.contains(held));
        presence.audit_ms = Some(now.ms + if suspects.is_empty() { audit_ms } else { again_ms });
        presence.suspects = suspects;
        presence.executor = executor;
        presence.executor.details = RawJson::null();
        for held in certain {
            self.mend(now, id, &held, &runs);
        }
    }

    fn mend(&mut self, now: Moment, id: ConnectionId, held: &Held, runs: &[Run]) {
        self.counts.drift += 1;
        let Some(presence) = self.presence_mut(id) else { return };
        let executor = presence.executor.id.clone();
        let data = serde_json::json!({ "runId": held.run_id, "epoch": held.epoch });
        let data = RawJson::of(&data).unwrap_or_else(|_| RawJson::null());
        self.out.push(Output::Work(Work::Note { executor, kind: "drift", data }));
        let found = runs.iter().find(|run| names(run) == *held).cloned();
        match found {
            Some(run) => self.relaunch_or_lose(now, id, run),
            None => {
                let Some(presence) = self.presence_mut(id) else { return };
                presence.lose(&held.run_id, held.epoch);
            }
        }
    }
}

fn names(run: &Run) -> Held {
    Held { run_id: run.id.clone(), epoch: run.lease_epoch }
}

impl Presence {
    /// What the store has and memory has not, or the other way round, or the executor does not name.
    fn compare(&self, runs: &[Run]) -> Vec<Held> {
        let is_known = |run: &&Run| {
            self.assignments
                .get(&run.id)
                .is_some_and(|held| held.epoch == run.lease_epoch && !self.is_unnamed(held))
        };
        let unknown = runs.iter().filter(|run| !is_known(run)).map(names);
        let gone = self.assignments.iter().filter_map(|(id, held)| {
            let held = Held { run_id: id.clone(), epoch: held.epoch };
            (!runs.iter().any(|run| names(run) == held)).then_some(held)
        });
        unknown.chain(gone).collect()
    }
}
