//! Programs beside runs: wanted again and again by the same name, and told of once.

use ah_access::executor::ProgramId;
use ah_access::executor::core::{Input, RestoredBeside};
use ah_access::frame::{Dispatch, Frame, RequestHead};
use ah_access::point::{self, Ask, Asked};
use ah_model::{Happened, Lease, ReportItem, RequestId, RunId};
use ah_store::block_on;

use super::machine::{Program, Record};
use super::world::{Happening, TROUBLE_MS, World};

/// How long a request may take.
const DEADLINE_MS: u64 = 5_000;

/// A program that somebody wants beside a run.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    request: RequestId,
    run_id: RunId,
    /// Of the claim that it was wanted beside at first.
    epoch: Option<u64>,
    /// How often it is asked for again.
    again: u64,
}

/// A program that began.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) machine: usize,
    pub(super) program: ProgramId,
}

impl Record {
    pub(super) fn restored_beside(&self) -> Vec<RestoredBeside> {
        let found = self.beside.iter().map(|(dispatch, program)| RestoredBeside {
            dispatch: dispatch.clone(),
            has_begun: program.has_begun,
            is_told: program.is_told,
        });
        found.collect()
    }
}

impl World {
    pub(super) fn want_beside(&mut self, run_id: &RunId) {
        for number in 0..self.random.below(4) {
            let request = format!("{run_id}-beside-{number}").parse().unwrap();
            let (run_id, again) = (run_id.clone(), self.random.below(4));
            let wanted = Wanted { request, run_id, epoch: None, again };
            self.within(TROUBLE_MS / 3, Happening::Dispatch { wanted });
        }
    }

    /// Asks any access point, as whoever got no answer does.
    pub(super) fn dispatch(&mut self, mut wanted: Wanted) {
        let run = block_on(self.store.run(wanted.run_id.clone())).unwrap();
        if run.executor_id.is_none() {
            return;
        }
        let epoch = *wanted.epoch.get_or_insert(run.lease_epoch);
        let server = self.pick(self.servers.len());
        let boot = self.servers[server].boot;
        let request = RequestHead {
            id: wanted.request.clone(),
            deadline_ms: DEADLINE_MS,
            actor: None,
            trace: None,
        };
        let dispatch = Dispatch {
            request,
            run_id: wanted.run_id.clone(),
            epoch,
            argv: vec!["make".to_owned()],
            env: Default::default(),
            directory: None,
            timeout_ms: None,
        };
        let ask = Ask {
            token: 1,
            run_id: wanted.run_id.clone(),
            actor: None,
            deadline_ms: DEADLINE_MS,
            what: Asked::Dispatch(Box::new(dispatch)),
        };
        self.tell_point(server, boot, point::Input::Ask(ask));
        if wanted.again > 0 {
            wanted.again -= 1;
            self.within(10_000, Happening::Dispatch { wanted });
        }
    }

    /// Counts a request for a program that is there already.
    pub(super) fn count_again(&mut self, machine: usize, frame: &Frame) {
        let Frame::Dispatch(dispatch) = frame else { return };
        let records = &self.machines[machine].records;
        let is_known = |record: &Record| record.beside.contains_key(&dispatch.request.id);
        self.tally.asked_again += u64::from(records.get(&dispatch.run_id).is_some_and(is_known));
    }

    pub(super) fn start_beside(&mut self, machine: usize, dispatch: &Dispatch, until_ms: u64) {
        let Dispatch { request, run_id, epoch, .. } = dispatch;
        self.note(|| format!("machine {machine} starts {} beside {run_id}", request.id));
        let lease = Lease { run_id: run_id.clone(), epoch: *epoch };
        let program = ProgramId { lease, dispatch: Some(request.id.clone()) };
        let record = self.machines[machine].record(&program).unwrap();
        let before = record.beside.insert(request.id.clone(), Program::default());
        assert!(before.is_none(), "seed {}: {} is started twice", self.seed, request.id);
        self.go_on(machine, &program, 15_000);
        self.prolong(machine, run_id, *epoch, until_ms);
    }

    /// Says how a program ended that did so while its executor was away.
    pub(super) fn watch(&mut self, machine: usize, boot: u64, program: ProgramId) {
        let Some(dispatch) = program.dispatch.clone() else { return };
        let record = self.machines[machine].record(&program);
        let found = record.and_then(|record| record.beside.get(&dispatch));
        let ended = found.filter(|found| found.has_ended()).and_then(|it| it.process.clone());
        if let Some(process) = ended {
            let input = Input::Process { program, process };
            self.within(20, Happening::Agent { machine, boot, input });
        }
    }

    pub(super) fn told(&mut self, machine: usize, boot: u64, program: &ProgramId) {
        let one = &mut self.machines[machine];
        if one.boot != boot || !one.is_up() {
            return;
        }
        let Some(dispatch) = &program.dispatch else { return };
        if let Some(found) = one.record(program).and_then(|it| it.beside.get_mut(dispatch)) {
            found.is_told = true;
        }
    }

    /// Every program that began, of a run whose end was kept, is told of before that end: that it
    /// began, and how it ended.
    pub(super) fn check_begun(&self) {
        let mut names = std::collections::BTreeSet::new();
        for Begun { machine, program } in &self.begun {
            let ProgramId { lease: Lease { run_id, epoch }, dispatch } = program;
            if let Some(dispatch) = dispatch {
                assert!(
                    names.insert(dispatch.clone()),
                    "seed {}: {dispatch} began twice",
                    self.seed
                );
            }
            let items = &self.machines[*machine].items;
            let is_end = |item: &&ReportItem| {
                item.run_id == *run_id
                    && item.epoch == *epoch
                    && matches!(item.what, Happened::Ended(_))
            };
            let Some(end) = items.iter().find(is_end).map(|item| item.seq) else { continue };
            let part = dispatch.as_ref().map_or_else(String::new, |it| format!("/{it}"));
            for word in ["hostStarted", "hostExited"] {
                let key = format!("{run_id}/{epoch}{part}/{word}");
                let is_told = items.iter().any(|item| item.dedup_key == key && item.seq < end);
                assert!(is_told, "seed {}: {key} is not told\n{}", self.seed, self.state());
            }
        }
    }
}
