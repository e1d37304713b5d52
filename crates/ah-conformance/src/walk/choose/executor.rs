//! Chooses operations on executors: mostly what keeps them able to take runs, and what they would
//! report of those they hold.

use ah_model::{
    Ended, Enrolment, ExecutorChange, ExecutorFilter, ExecutorId, ExecutorRule, ExecutorStatus,
    ExecutorVerb, Happened, Labels, Machine, NewExecutor, OutboxId, RawJson, ReportItem, Reports,
    RunEnd,
};
use ah_store::Runs;

use super::super::operation::ExecutorOperation;
use super::run::EXECUTORS;
use super::{Chooser, PAYLOADS};
use crate::ModelStore;
use crate::given::json;

const OUTBOXES: [&str; 2] = ["o1", "o2"];
const USERS: [&str; 3] = ["ann", "bob", "*"];
/// The only executor that is ever revoked: the others must be able to come again.
const REVOKED: &str = "E1";

/// How far the reports of an outbox are kept.
pub(super) type Kept = (ExecutorId, OutboxId, u64);

/// Every outbox of whoever may report.
pub(super) async fn outboxes(model: &ModelStore) -> Vec<Kept> {
    let mut kept = Vec::new();
    for executor in EXECUTORS {
        let executor: ExecutorId = executor.parse().unwrap();
        for outbox in OUTBOXES {
            let outbox: OutboxId = outbox.parse().unwrap();
            let through = model.reported_through(executor.clone(), outbox.clone()).await.unwrap();
            kept.push((executor.clone(), outbox, through));
        }
    }
    kept
}

impl Chooser<'_> {
    pub(super) fn executor_operation(&mut self) -> ExecutorOperation {
        use ExecutorOperation as Op;
        let id = self.executor_id();
        match self.random.below(24) {
            0 => Op::Register(NewExecutor {
                id,
                offer: self.offer(),
                details: json(self.random.pick(&PAYLOADS)),
            }),
            1..=3 => Op::Enrol(Box::new(self.enrolment(id))),
            4..=7 => {
                let change = self.executor_change(&id);
                Op::Change(id, Box::new(change), self.maybe_user())
            }
            8 => Op::Executor(id),
            9 => Op::List(self.executor_filter(), self.start()),
            10 => Op::Seen(id),
            11 => Op::AskToGo(id),
            12 => Op::Remove(id),
            13 => Op::History(self.random.one_in(2).then_some(id), self.start()),
            14 => {
                let kind = self.random.pick(&["refused", "drift ☃", ""]).to_owned();
                Op::Note(id, kind, json(self.random.pick(&PAYLOADS)))
            }
            15 | 16 => self.lease_renewal(),
            17 => Op::Reported(id, self.random.pick(&OUTBOXES).parse().unwrap()),
            _ => Op::Report(self.reports()),
        }
    }

    pub(super) fn maybe_user(&mut self) -> Option<String> {
        let user = self.random.pick(&USERS).to_owned();
        self.random.one_in(2).then_some(user)
    }

    pub(super) fn executor_labels(&mut self) -> Labels {
        let pairs: &[&str] = self.random.pick(&[&[], &["zone=1"][..], &["zone=2", "a="]]);
        Labels::from_pairs(&pairs.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    }

    fn enrolment(&mut self, id: ExecutorId) -> Enrolment {
        let os_name = self.random.pick(&["linux", "macos", ""]).to_owned();
        let machine = Machine {
            os_name,
            architecture: "x86_64".to_owned(),
            cpu_cores: self.random.pick(&[2, 8]),
            memory_bytes: 1_000,
            ..Machine::default()
        };
        Enrolment {
            id,
            identity_provider: "files".to_owned(),
            identity: json(self.random.pick(&PAYLOADS)),
            offer: self.offer(),
            details: RawJson::null(),
            machine: (!self.random.one_in(3)).then_some(machine),
            capacity: self.random.pick(&[None, Some(1), Some(4)]),
        }
    }

    fn executor_change(&mut self, id: &ExecutorId) -> ExecutorChange {
        let last =
            if id.as_str() == REVOKED { ExecutorStatus::Revoked } else { ExecutorStatus::Active };
        let statuses = [ExecutorStatus::Active, ExecutorStatus::Active, ExecutorStatus::Draining];
        let statuses = [&statuses[..], &[ExecutorStatus::Disabled, last]].concat();
        let tags = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
        let rules = self.random.one_in(4).then(|| self.executor_rules());
        let set_rules = if self.random.one_in(3) { self.executor_rules() } else { Vec::new() };
        ExecutorChange {
            set_labels: self.executor_labels(),
            unset_labels: tags(self.random.pick(&[&[], &["zone"][..]])),
            add_tags: tags(self.random.pick(&[&[], &["a"][..], &["b", "b"]])),
            remove_tags: tags(self.random.pick(&[&[], &[], &["b"][..]])),
            rules,
            set_rules,
            unset_rules: tags(self.random.pick(&[&[], &[], &USERS[..1]])),
            friendly_name: self.maybe_text(),
            owner: self.random.pick(&[None, None, Some(String::new()), Some("ann".to_owned())]),
            status: self.random.one_in(2).then(|| self.random.pick(&statuses)),
        }
    }

    fn executor_rules(&mut self) -> Vec<ExecutorRule> {
        let verbs = [ExecutorVerb::Launch, ExecutorVerb::Launch, ExecutorVerb::Stop];
        let count = self.random.pick(&[0, 0, 1, 2]);
        let mut rules = Vec::new();
        for _ in 0..count {
            let user = self.random.pick(&USERS).to_owned();
            rules.push(ExecutorRule { user, verbs: vec![self.random.pick(&verbs)] });
        }
        rules
    }

    fn executor_filter(&mut self) -> ExecutorFilter {
        let mut filter = ExecutorFilter::default();
        for _ in 0..self.random.below(3) {
            match self.random.below(3) {
                0 => filter.statuses.push(self.random.pick(ExecutorStatus::ALL)),
                1 => filter.tags.push(self.random.pick(&["a", "b"]).to_owned()),
                _ => filter.labels = self.executor_labels(),
            }
        }
        filter
    }

    /// Mostly of one who holds something.
    fn holder(&mut self) -> ExecutorId {
        let held = self.runs.iter().filter(|run| run.status.is_live());
        let holders: Vec<_> = held.filter_map(|run| run.executor_id.clone()).collect();
        match holders.is_empty() || self.random.one_in(8) {
            true => self.executor_id(),
            false => self.random.pick(&holders),
        }
    }

    fn lease_renewal(&mut self) -> ExecutorOperation {
        let (holder, ms) = (self.holder(), self.lease_ms());
        let leases = (0..self.random.below(5)).map(|_| self.lease()).collect();
        ExecutorOperation::Renew(holder, leases, ms)
    }

    /// Mostly what comes next in the outbox, some of it again, seldom with a gap.
    fn reports(&mut self) -> Reports {
        let executor_id = self.holder();
        let outbox_id: OutboxId = self.random.pick(&OUTBOXES).parse().unwrap();
        let kept = self
            .outboxes
            .iter()
            .find(|(executor, outbox, _)| (executor, outbox) == (&executor_id, &outbox_id));
        let through = kept.map_or(0, |(_, _, through)| *through);
        let first = match self.random.below(10) {
            0 => through + 2,
            1 | 2 => through.saturating_sub(1).max(1),
            _ => through + 1,
        };
        let count = 1 + self.random.below(5);
        let items = (0..count).map(|n| self.report(first + n, &executor_id)).collect();
        Reports { executor_id, outbox_id, items }
    }

    fn report(&mut self, seq: u64, executor: &ExecutorId) -> ReportItem {
        let own = self.runs.iter().filter(|run| run.executor_id.as_ref() == Some(executor));
        let own: Vec<_> = own.map(|run| run.lease()).collect();
        let lease = match own.is_empty() || self.random.one_in(8) {
            true => self.lease(),
            false => self.random.pick(&own),
        };
        let run = self.runs.iter().find(|run| run.id == lease.run_id).cloned();
        let session_id = match run.filter(|_| !self.random.one_in(20)) {
            Some(run) => run.session_id,
            None => self.session_id(),
        };
        let key = self.random.below(40);
        ReportItem {
            seq,
            run_id: lease.run_id,
            epoch: lease.epoch,
            session_id,
            dedup_key: format!("k{key}"),
            at: self.time(),
            what: self.happened(),
        }
    }

    fn happened(&mut self) -> Happened {
        match self.random.below(6) {
            0 | 1 => Happened::Started {},
            2 => {
                let RunEnd { outcome, error, result, idle, exit } = self.run_end();
                Happened::Ended(Ended { outcome, error, result, idle, exit })
            }
            _ => {
                let event = self.event();
                Happened::Event { kind: event.kind, data: event.data }
            }
        }
    }
}
