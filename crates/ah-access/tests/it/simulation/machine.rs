//! An executor's machine: its core, its outbox, its programs, and what of it survives what.

use std::collections::BTreeMap;

use ah_access::executor::ProgramId;
use ah_access::executor::core::{
    Agent, AgentOptions, Input, Output, Process, Restored, RestoredRun, Said, Signal,
};
use ah_access::executor::outbox::Draft;
use ah_access::frame::Launch;
use ah_access::point::ConnectionId;
use ah_conformance::Random;
use ah_model::{
    Ended, ExecutorId, Exit, Happened, Lease, Offer, OutboxId, RawJson, ReportItem,
    ReportRefusalReason, RequestId, RunId, RunOutcome, SessionId,
};

use super::beside::Begun;
use super::world::{Happening, Side, Step, World};

const CAPACITY: u32 = 2;

pub(super) struct Machine {
    pub(super) id: ExecutorId,
    pub(super) boot: u64,
    /// Rises when the machine itself starts again: no program survives that.
    pub(super) power: u64,
    /// When all that was written so far is on disk.
    written_ms: u64,
    since_ms: u64,
    permille: u64,
    ahead_ms: i64,
    pub(super) agent: Option<Agent>,
    pub(super) connection: Option<(u64, ConnectionId)>,
    outbox: OutboxId,
    /// All that ever was in the outbox; nothing is taken out, so that it can be compared.
    pub(super) items: Vec<ReportItem>,
    pub(super) forgotten: u64,
    pub(super) refused: Vec<u64>,
    /// Whether they were kept or refused is not known here.
    pub(super) unsure: Vec<u64>,
    /// Runs that the machine has a record of.
    pub(super) records: BTreeMap<RunId, Record>,
}

pub(super) struct Record {
    pub(super) epoch: u64,
    session_id: SessionId,
    /// Its own program.
    own: Program,
    /// What was started beside it.
    pub(super) beside: BTreeMap<RequestId, Program>,
    /// When its keeper ends the program, in the time of the world.
    pub(super) until_ms: u64,
}

/// A program that a machine has a record of.
#[derive(Default)]
pub(super) struct Program {
    pub(super) process: Option<Process>,
    pub(super) has_begun: bool,
    pub(super) is_told: bool,
    events: u64,
}

impl Program {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.process, Some(Process::Exited { .. }))
    }
}

impl Record {
    fn programs(&mut self) -> impl Iterator<Item = &mut Program> {
        [&mut self.own].into_iter().chain(self.beside.values_mut())
    }

    fn program(&mut self, dispatch: Option<&RequestId>) -> Option<&mut Program> {
        match dispatch {
            Some(dispatch) => self.beside.get_mut(dispatch),
            None => Some(&mut self.own),
        }
    }

    fn is_at_work(&self) -> bool {
        [&self.own].into_iter().chain(self.beside.values()).any(|one| !one.has_ended())
    }
}

impl Machine {
    pub(super) fn record(&mut self, program: &ProgramId) -> Option<&mut Record> {
        let Lease { run_id, epoch } = &program.lease;
        self.records.get_mut(run_id).filter(|record| record.epoch == *epoch)
    }

    pub(super) fn new(number: usize, random: &mut Random) -> Self {
        Self {
            id: format!("spiffe://sim/ah/agent/node-{number}").parse().unwrap(),
            boot: 0,
            power: 0,
            written_ms: 0,
            since_ms: 0,
            permille: 970 + random.below(61),
            ahead_ms: i64::try_from(random.below(7_200_000)).unwrap() - 3_600_000,
            agent: None,
            connection: None,
            outbox: format!("outbox-{number}").parse().unwrap(),
            items: Vec::new(),
            forgotten: 0,
            refused: Vec::new(),
            unsure: Vec::new(),
            records: BTreeMap::new(),
        }
    }

    fn options(&self) -> AgentOptions {
        AgentOptions {
            executor_id: self.id.clone(),
            software: "ah".to_owned(),
            identity_provider: "files".to_owned(),
            offer: Offer::default(),
            machine: None,
            details: RawJson::null(),
            capacity: CAPACITY,
            retry_ms: 200,
            retry_max_ms: 5_000,
            greeting_ms: 3_000,
            unsure_ms: super::server::LEASE_MS,
            seed: self.boot * 7 + 1,
        }
    }

    fn restored(&self) -> Restored {
        let end_seq = |id: &RunId, epoch: u64| {
            let mut items = self.items.iter();
            let is_end = |item: &&ReportItem| {
                item.run_id == *id && item.epoch == epoch && matches!(item.what, Happened::Ended(_))
            };
            items.find(is_end).map(|item| item.seq)
        };
        let run = |(id, record): (&RunId, &Record)| RestoredRun {
            run_id: id.clone(),
            epoch: record.epoch,
            session_id: record.session_id.clone(),
            member: None,
            is_hold: false,
            has_begun: record.own.has_begun,
            process: record.own.process.clone().unwrap_or(Process::Started),
            end_seq: end_seq(id, record.epoch),
            beside: record.restored_beside(),
        };
        Restored {
            outbox: self.outbox.clone(),
            base: 0,
            through: self.forgotten,
            last_seq: self.items.len() as u64,
            runs: self.records.iter().map(run).collect(),
        }
    }

    /// Whether the program of a run lives, or something beside it.
    pub(super) fn is_at_work(&self, run_id: &RunId, epoch: u64) -> bool {
        let record = self.records.get(run_id);
        record.is_some_and(|record| record.epoch == epoch && record.is_at_work())
    }

    pub(super) fn is_up(&self) -> bool {
        self.agent.is_some()
    }
}

/// How a program ended.
fn exited(outcome: RunOutcome, error: &str) -> Process {
    let error = Some(error.to_owned()).filter(|error| !error.is_empty());
    let ended = Ended { outcome, error, result: None, idle: false, exit: Exit::default() };
    Process::Exited { ended: Box::new(ended) }
}

impl World {
    pub(super) fn now_at(&self, machine: usize) -> ah_access::moment::Moment {
        let one = &self.machines[machine];
        self.moment(one.since_ms, one.permille, one.ahead_ms)
    }

    pub(super) fn machine_up(&mut self, machine: usize) {
        if self.machines[machine].is_up() {
            return;
        }
        self.machines[machine].boot += 1;
        self.machines[machine].since_ms = self.now_ms;
        let now = self.now_at(machine);
        let one = &mut self.machines[machine];
        let agent = Agent::new(one.options(), one.restored(), now);
        one.agent = Some(agent);
        let boot = one.boot;
        self.note(|| format!("machine {machine} is up"));
        self.after(0, Happening::AgentTick { machine, boot });
    }

    /// The executor ends without a word; with `power` its programs as well.
    pub(super) fn crash_machine(&mut self, machine: usize, power: bool) {
        if self.machines[machine].agent.take().is_none() {
            return;
        }
        self.note(|| format!("machine {machine} crashes, power {power}"));
        if power {
            let one = &mut self.machines[machine];
            one.power += 1;
            let programs = one.records.values_mut().flat_map(Record::programs);
            for program in programs.filter(|program| !program.has_ended()) {
                program.process = Some(exited(RunOutcome::Failed, "the machine started again"));
            }
        }
        for id in self.connections_of(|its, _| its == machine) {
            self.hang_up(id, Side::Executor);
        }
        self.within(40_000, Happening::MachineUp { machine });
    }

    pub(super) fn tick_agent(&mut self, machine: usize, boot: u64) {
        if self.machines[machine].boot != boot || !self.machines[machine].is_up() {
            return;
        }
        self.tell_agent(machine, boot, Input::Tick);
        self.after(100, Happening::AgentTick { machine, boot });
    }

    pub(super) fn tell_agent(&mut self, machine: usize, boot: u64, input: Input) {
        if self.machines[machine].boot != boot {
            return;
        }
        let now = self.now_at(machine);
        let Some(agent) = &mut self.machines[machine].agent else { return };
        let outputs = agent.on(now, input);
        for output in outputs {
            self.do_for_agent(machine, boot, output);
        }
    }

    fn do_for_agent(&mut self, machine: usize, boot: u64, output: Output) {
        match output {
            Output::Dial { dial } => self.dial(machine, boot, dial),
            Output::Send { dial, stream, frame } => {
                if let Some((_, id)) = self.machines[machine].connection.filter(|(d, _)| *d == dial)
                {
                    self.transmit(id, Side::Point, stream, frame);
                }
            }
            Output::Close { dial, .. } => {
                if let Some((_, id)) = self.machines[machine].connection.filter(|(d, _)| *d == dial)
                {
                    self.hang_up(id, Side::Executor);
                }
            }
            Output::Spawn { launch, until_ms } => {
                self.spawn(machine, &launch);
                self.prolong(machine, &launch.run_id, launch.epoch, until_ms);
            }
            Output::Prolong { leases, until_ms } => {
                for Lease { run_id, epoch } in leases {
                    self.prolong(machine, &run_id, epoch, until_ms);
                }
            }
            Output::Dispatch { dispatch, until_ms } => {
                self.start_beside(machine, &dispatch, until_ms);
            }
            Output::Signal { program, signal } => self.signal(machine, program, signal),
            Output::Watch { program } => self.watch(machine, boot, program),
            Output::Told { program } => {
                let ms = self.written_after(machine);
                self.after(ms, Happening::Told { machine, boot, program });
            }
            // No run of it holds a member of a fleet.
            Output::Fence(_) | Output::Unfence { .. } => {}
            Output::Keep(report) => {
                let ms = self.written_after(machine);
                self.after(ms, Happening::Kept { machine, boot, report });
            }
            Output::Read { after } => {
                let items = self.machines[machine].items.iter().filter(|item| item.seq > after);
                let items = items.take(3).cloned().collect();
                self.within(5, Happening::Agent { machine, boot, input: Input::Read { items } });
            }
            Output::BeginOutbox { .. } => {
                panic!("seed {}: nothing was rolled back\n{}", self.seed, self.state());
            }
            Output::Forget { through, refused } => {
                let one = &mut self.machines[machine];
                one.forgotten = one.forgotten.max(through);
                for refusal in refused {
                    match refusal.reason {
                        ReportRefusalReason::Other => one.unsure.push(refusal.seq),
                        _ => one.refused.push(refusal.seq),
                    }
                }
            }
            Output::Drop { program } => {
                assert_eq!(program.dispatch, None, "there are too few to forget one");
                let one = &mut self.machines[machine];
                if one.record(&program).is_some() {
                    one.records.remove(&program.lease.run_id);
                }
            }
            Output::Say(said) => {
                match said {
                    Said::Fenced { .. } => self.tally.fenced += 1,
                    Said::Lost { .. } => self.tally.lost += 1,
                    _ => {}
                }
                self.note(|| format!("machine {machine}: {said:?}"));
            }
        }
    }

    fn spawn(&mut self, machine: usize, launch: &Launch) {
        let (run_id, epoch) = (launch.run_id.clone(), launch.epoch);
        self.note(|| format!("machine {machine} starts {run_id} epoch {epoch}"));
        let session_id = launch.session_id.clone();
        let own = Program::default();
        let record = Record { epoch, session_id, own, beside: BTreeMap::new(), until_ms: 0 };
        self.machines[machine].records.insert(run_id.clone(), record);
        self.go_on(machine, &ProgramId::of_run(run_id, epoch), 25_000);
    }

    /// Decides what a program does that is being started.
    pub(super) fn go_on(&mut self, machine: usize, program: &ProgramId, long_max: u64) {
        let power = self.machines[machine].power;
        let step = |step| Happening::Program { machine, power, program: program.clone(), step };
        self.within(50, step(Step::Started));
        let long = 100 + self.random.below(long_max);
        for _ in 0..self.random.below(12) {
            self.within(long, step(Step::Event));
        }
        let code = i64::from(self.random.one_in(4));
        self.after(long, step(Step::Exit { code }));
    }

    /// How long it takes until something that is written now is on disk: behind all before it.
    fn written_after(&mut self, machine: usize) -> u64 {
        let at_ms = self.now_ms + self.random.below(20);
        let one = &mut self.machines[machine];
        one.written_ms = one.written_ms.max(at_ms);
        one.written_ms - self.now_ms
    }

    /// Keepers hear how long the run is surely the executor's.
    pub(super) fn prolong(&mut self, machine: usize, run_id: &RunId, epoch: u64, until_ms: u64) {
        let left_ms = until_ms.saturating_sub(self.now_at(machine).ms);
        let one = &mut self.machines[machine];
        let left_ms = left_ms * 1_000 / one.permille;
        let power = one.power;
        let Some(record) = one.records.get_mut(run_id).filter(|record| record.epoch == epoch)
        else {
            return;
        };
        record.until_ms = record.until_ms.max(self.now_ms + left_ms);
        // The latest time counts, also for a program that is new.
        let left_ms = record.until_ms - self.now_ms;
        let beside: Vec<RequestId> = record.beside.keys().cloned().collect();
        for dispatch in [None].into_iter().chain(beside.into_iter().map(Some)) {
            let lease = Lease { run_id: run_id.clone(), epoch };
            let (program, step) = (ProgramId { lease, dispatch }, Step::Due);
            self.after(left_ms, Happening::Program { machine, power, program, step });
        }
    }

    fn signal(&mut self, machine: usize, program: ProgramId, signal: Signal) {
        let power = self.machines[machine].power;
        let killed = Happening::Program { machine, power, program, step: Step::Killed };
        match signal {
            Signal::Stop { grace_ms } => self.within(grace_ms + 1, killed),
            Signal::Kill => self.within(50, killed),
            Signal::Pause | Signal::Resume => {}
        }
    }

    pub(super) fn program(&mut self, machine: usize, power: u64, which: &ProgramId, step: Step) {
        let (wall, now_ms) = (self.wall(0), self.now_ms);
        let one = &mut self.machines[machine];
        if one.power != power {
            return;
        }
        let (boot, is_away) = (one.boot, one.agent.is_none());
        let Some(record) = one.record(which) else { return };
        let (until_ms, session_id) = (record.until_ms, record.session_id.clone());
        let Some(program) = record.program(which.dispatch.as_ref()) else { return };
        if program.has_ended() {
            return;
        }
        let process = match step {
            Step::Started => {
                program.has_begun = true;
                self.begun.push(Begun { machine, program: which.clone() });
                Process::Started
            }
            Step::Exit { code: 0 } => exited(RunOutcome::Completed, ""),
            Step::Exit { code } => exited(RunOutcome::Failed, &format!("exit code {code}")),
            Step::Killed => exited(RunOutcome::Failed, "signal 9"),
            Step::Due if until_ms > now_ms => return,
            Step::Due => {
                self.tally.away += u64::from(is_away);
                exited(RunOutcome::Failed, "its executor was away")
            }
            Step::Event => {
                program.events += 1;
                let number = program.events;
                let ProgramId { lease: Lease { run_id, epoch }, dispatch } = which.clone();
                let part = dispatch.map_or_else(String::new, |dispatch| format!(".{dispatch}"));
                let report = Draft {
                    dedup_key: format!("{run_id}.{epoch}{part}.event.{number}"),
                    run_id,
                    epoch,
                    session_id,
                    at: wall,
                    what: Happened::Event { kind: "hostLog".to_owned(), data: RawJson::null() },
                };
                // Output is read from a file while the executor runs, and kept at once.
                return self.keep(machine, boot, report);
            }
        };
        program.process = Some(process.clone());
        self.tell_agent(machine, boot, Input::Process { program: which.clone(), process });
    }

    pub(super) fn keep(&mut self, machine: usize, boot: u64, report: Draft) {
        let one = &mut self.machines[machine];
        if one.boot != boot || !one.is_up() {
            return;
        }
        let seq = one.items.len() as u64 + 1;
        let item = report.numbered(seq);
        let is_end = matches!(item.what, Happened::Ended(_));
        let ends = if is_end { vec![(item.run_id.clone(), item.epoch, seq)] } else { Vec::new() };
        one.items.push(item);
        self.tell_agent(machine, boot, Input::Kept { last_seq: seq, ends });
    }
}
