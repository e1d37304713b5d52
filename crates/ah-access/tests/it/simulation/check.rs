//! What must hold, all the time and in the end.

use std::collections::BTreeMap;

use ah_model::{EventQuery, Happened, ReportItem, RunId, RunStatus};
use ah_store::block_on;

use super::world::{Tally, World};

/// What an executor knows of an event that it kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Refused,
    Unsure,
    Kept,
}

/// How long a program may live after its lease.
const LATE_MS: u64 = 500;

impl World {
    /// No two executors are sure of the same run at once, and no program goes on without a lease.
    pub(super) fn check_leases(&self) {
        let seed = self.seed;
        let mut holders: BTreeMap<RunId, (usize, u64)> = BTreeMap::new();
        for (number, machine) in self.machines.iter().enumerate() {
            let Some(agent) = &machine.agent else {
                self.check_keepers(number, &mut holders);
                continue;
            };
            let now_ms = self.now_at(number).ms;
            for run in agent.runs() {
                let Some(until_ms) = run.surely_until_ms else { continue };
                let is_late =
                    until_ms + LATE_MS < now_ms && machine.is_at_work(&run.run_id, run.epoch);
                assert!(
                    !is_late,
                    "seed {seed}, {} ms: {run:?} works on\n{}",
                    self.now_ms,
                    self.state()
                );
                if until_ms <= now_ms {
                    continue;
                }
                let before = holders.insert(run.run_id.clone(), (number, run.epoch));
                assert!(
                    before.is_none(),
                    "seed {seed}, {} ms: machine {number} holds {run:?}, and so does {before:?}\n{}",
                    self.now_ms,
                    self.state()
                );
            }
        }
    }

    /// A program whose executor is away works only as long as nobody else can be sure of its run.
    fn check_keepers(&self, number: usize, holders: &mut BTreeMap<RunId, (usize, u64)>) {
        let machine = &self.machines[number];
        for (run_id, record) in &machine.records {
            if !machine.is_at_work(run_id, record.epoch) {
                continue;
            }
            let (seed, now_ms) = (self.seed, self.now_ms);
            assert!(
                record.until_ms >= now_ms,
                "seed {seed}, {now_ms} ms: {run_id} works on without an executor\n{}",
                self.state()
            );
            let before = holders.insert(run_id.clone(), (number, record.epoch));
            assert!(
                before.is_none(),
                "seed {seed}, {now_ms} ms: {run_id} works on {number}, {before:?} has it\n{}",
                self.state()
            );
        }
    }

    /// Whether nothing is left to be done.
    pub(super) fn is_over(&self) -> bool {
        let is_ended = |id: &RunId| {
            let run = block_on(self.store.run(id.clone())).unwrap();
            !run.status.is_live()
        };
        let is_told = self.machines.iter().all(|machine| {
            machine.is_up()
                && machine.forgotten == machine.items.len() as u64
                && machine.records.is_empty()
        });
        is_told && self.runs.iter().all(is_ended)
    }

    /// Everything that an executor kept is in the store once, or was refused and is known to be.
    pub(super) fn check_end(&self) {
        let seed = self.seed;
        assert!(self.is_over(), "seed {seed}: not over\n{}", self.state());
        let mut stored: BTreeMap<String, usize> = BTreeMap::new();
        for id in &self.runs {
            let run = block_on(self.store.run(id.clone())).unwrap();
            let events =
                block_on(self.store.events(run.session_id.clone(), EventQuery::default())).unwrap();
            for event in events {
                if let Some(key) = &event.dedup_key {
                    *stored.entry(key.clone()).or_default() += 1;
                }
            }
        }
        for (key, told) in self.told_by_key() {
            let count = stored.remove(key).unwrap_or(0);
            let is_right = match told {
                Fate::Kept => count == 1,
                Fate::Unsure => count < 2,
                Fate::Refused => count == 0,
            };
            assert!(
                is_right,
                "seed {seed}: {key} is there {count} times, {told:?}\n{}",
                self.state()
            );
        }
        self.check_begun();
        let unknown: Vec<&String> = stored.keys().filter(|key| key.contains(".event.")).collect();
        assert!(unknown.is_empty(), "seed {seed}: nobody kept {unknown:?}");
    }

    /// What became of each event that executors kept. One that was killed says again that programs
    /// began and ended: the same key, which must be in the store if it was taken once.
    fn told_by_key(&self) -> BTreeMap<&str, Fate> {
        let mut told: BTreeMap<&str, Fate> = BTreeMap::new();
        for machine in &self.machines {
            for item in &machine.items {
                let Happened::Event { .. } = item.what else { continue };
                let fate = match () {
                    () if machine.refused.contains(&item.seq) => Fate::Refused,
                    () if machine.unsure.contains(&item.seq) => Fate::Unsure,
                    () => Fate::Kept,
                };
                let best = told.entry(&item.dedup_key).or_insert(fate);
                *best = (*best).max(fate);
            }
        }
        told
    }

    pub(super) fn tallied(&self) -> Tally {
        let mut tally = self.tally;
        for machine in &self.machines {
            tally.refused += machine.refused.len() as u64;
            tally.unsure += machine.unsure.len() as u64;
            let is_end = |item: &&ReportItem| {
                item.dedup_key.contains("-beside-") && item.dedup_key.ends_with("/hostExited")
            };
            tally.beside += machine.items.iter().filter(is_end).count() as u64;
        }
        for id in &self.runs {
            let run = block_on(self.store.run(id.clone())).unwrap();
            tally.again += u64::from(run.lease_epoch > 1);
            tally.completed += u64::from(run.status == RunStatus::Completed);
        }
        tally
    }

    pub(super) fn state(&self) -> String {
        let mut text = String::new();
        for line in &self.trace {
            text += &format!("{line}\n");
        }
        for id in &self.runs {
            let run = block_on(self.store.run(id.clone())).unwrap();
            text += &format!(
                "{id} {} epoch {} by {:?}\n",
                run.status, run.lease_epoch, run.executor_id
            );
        }
        for machine in &self.machines {
            let held = machine.agent.as_ref().map(|agent| (agent.is_connected(), agent.held()));
            text += &format!(
                "{} up, connected and held {held:?}, items {}, forgotten {}, records {:?}\n",
                machine.id,
                machine.items.len(),
                machine.forgotten,
                machine
                    .records
                    .iter()
                    .map(|(id, r)| format!("{id}@{}", r.epoch))
                    .collect::<Vec<_>>(),
            );
        }
        text
    }
}
