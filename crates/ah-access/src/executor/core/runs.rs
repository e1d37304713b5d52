//! The runs an executor holds: launched, surely its own, at work, ended, reported.

use ah_model::{
    Ended, ExecutorId, Exit, Happened, Lease, MemberName, RawJson, RunId, RunOutcome, SessionId,
};
use serde_json::json;

use super::Agent;
use super::input::{Output, Process, RestoredRun, Said, Signal, Verdict};
use crate::executor::ProgramId;
use crate::executor::host::name_program;
use crate::executor::outbox::Draft;
use crate::frame::{self, HeldState, Launch, ReplyCode};
use crate::moment::Moment;

/// How a run stands, for people and tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStanding {
    /// The run.
    pub run_id: RunId,
    /// Of its claim.
    pub epoch: u64,
    /// What its program does.
    pub state: HeldState,
    /// It is another's by now; only its program has to end.
    pub is_lost: bool,
    /// Until when the store surely keeps it for this executor while its program works.
    pub surely_until_ms: Option<u64>,
}

/// A run that is held, or was until its program has ended.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) epoch: u64,
    pub(super) session_id: SessionId,
    pub(super) member: Option<MemberName>,
    /// It only holds this executor for its member.
    pub(super) is_hold: bool,
    stage: Stage,
    /// Until when it is surely its own; not known before a heartbeat that named it was answered.
    lease_until_ms: Option<u64>,
    /// Whether an access point said so.
    is_sure: bool,
    /// The first heartbeat on this connection that named it.
    pub(super) named_in: Option<u64>,
    /// The number of its end in the outbox.
    pub(super) end_seq: Option<u64>,
    /// Why its program is about to end.
    ending: Option<Ending>,
    is_paused: bool,
    /// It is another's by now; only its program has to end.
    is_lost: bool,
}

/// Why a program is about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Somebody asked for it.
    Asked,
    /// The lease was not prolonged in time.
    Fenced,
}

#[derive(Debug)]
enum Stage {
    /// To be started once it is surely its own.
    Waiting(Box<Launch>),
    /// Being started.
    Starting,
    /// At work.
    Running,
    /// Its program ended so, and something beside it has not.
    Closing(Box<Ended>),
    /// Over; its end is, or will be, in the outbox.
    Ended,
}

impl Held {
    fn new(epoch: u64, session_id: SessionId, stage: Stage) -> Self {
        Self {
            epoch,
            session_id,
            member: None,
            is_hold: false,
            stage,
            lease_until_ms: None,
            is_sure: true,
            named_in: None,
            end_seq: None,
            ending: None,
            is_paused: false,
            is_lost: false,
        }
    }

    /// Until when it is surely its own, if anybody said so.
    pub(super) fn surely_until_ms(&self) -> Option<u64> {
        self.lease_until_ms.filter(|_| self.is_sure)
    }

    /// Whether its program has not started.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.stage, Stage::Waiting(_) | Stage::Starting)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether it is at work, and nobody wants it to end.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.stage, Stage::Running) && self.ending.is_none() && !self.is_lost
    }

    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    pub(super) fn state(&self) -> HeldState {
        match self.stage {
            Stage::Waiting(_) | Stage::Starting => HeldState::Starting,
            Stage::Running if self.ending.is_some() => HeldState::Stopping,
            Stage::Running if self.is_paused => HeldState::Paused,
            Stage::Running => HeldState::Running,
            Stage::Closing(_) => HeldState::Stopping,
            Stage::Ended => HeldState::Ended,
        }
    }

    /// Whether its program, or something beside it, may be at work.
    fn is_alive(&self) -> bool {
        matches!(self.stage, Stage::Starting | Stage::Running | Stage::Closing(_))
    }

    /// When its program must have ended, unless the lease is prolonged.
    pub(super) fn due_ms(&self) -> Option<u64> {
        let is_at_work = self.is_alive();
        self.lease_until_ms.filter(|_| is_at_work && !self.is_lost)
    }
}

impl Agent {
    /// The runs it has to do with.
    pub fn runs(&self) -> impl Iterator<Item = RunStanding> {
        self.runs.iter().map(|(id, run)| RunStanding {
            run_id: id.clone(),
            epoch: run.epoch,
            state: run.state(),
            is_lost: run.is_lost,
            surely_until_ms: run.due_ms().filter(|_| run.is_sure),
        })
    }

    pub(super) fn restore(&mut self, now: Moment, run: RestoredRun) {
        let RestoredRun { run_id, epoch, has_begun, process, end_seq, .. } = run;
        let mut held = Held::new(epoch, run.session_id, Stage::Running);
        held.end_seq = end_seq;
        (held.member, held.is_hold) = (run.member, run.is_hold);
        // Nobody knows how long it was away: it goes on for a while, in the hope of being sure again.
        held.lease_until_ms = Some(now.ms + self.options.unsure_ms);
        held.is_sure = false;
        self.runs.insert(run_id.clone(), held);
        if end_seq.is_some() {
            if let Some(held) = self.runs.get_mut(&run_id) {
                held.stage = Stage::Ended;
            }
            return;
        }
        for found in run.beside {
            self.restore_beside(now, &run_id, found);
        }
        let program = ProgramId::of_run(run_id, epoch);
        if has_begun {
            self.program(now, program.clone(), Process::Started);
        } else {
            self.out.push(Output::Watch { program: program.clone() });
        }
        if process != Process::Started {
            self.program(now, program, process);
        }
    }

    /// Takes a run; its program starts when a heartbeat that names it was answered.
    pub(super) fn hold(&mut self, now: Moment, launch: Launch) {
        let (epoch, session_id) = (launch.epoch, launch.session_id.clone());
        let (run_id, member, is_hold) =
            (launch.run_id.clone(), launch.member.clone(), launch.is_hold());
        let mut held = Held::new(epoch, session_id, Stage::Waiting(Box::new(launch)));
        (held.member, held.is_hold) = (member, is_hold);
        self.runs.insert(run_id, held);
        self.beat_soon(now);
    }

    /// What was named in heartbeat `beat` or before is surely its own until then.
    pub(super) fn keep(&mut self, now: Moment, beat: u64, until_ms: u64) {
        let (mut spawned, mut leases) = (Vec::new(), Vec::new());
        for (run_id, run) in &mut self.runs {
            if run.named_in.is_none_or(|first| first > beat) {
                continue;
            }
            let before = run.lease_until_ms.filter(|_| run.is_sure);
            run.lease_until_ms = before.max(Some(until_ms));
            run.is_sure = true;
            if run.is_lost {
                continue;
            }
            if matches!(run.stage, Stage::Waiting(_)) && until_ms > now.ms {
                let waiting = std::mem::replace(&mut run.stage, Stage::Starting);
                if let Stage::Waiting(launch) = waiting {
                    spawned.push(Output::Spawn { launch, until_ms });
                }
            } else if run.is_alive() {
                leases.push(Lease { run_id: run_id.clone(), epoch: run.epoch });
            }
        }
        if !leases.is_empty() {
            self.out.push(Output::Prolong { leases, until_ms });
        }
        self.out.append(&mut spawned);
    }

    /// Ends programs whose runs are no longer surely its own.
    pub(super) fn fence_if_due(&mut self, now: Moment) {
        let is_due = |run: &Held| run.due_ms().is_some_and(|at| now.is_past(at));
        let due: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| is_due(run)).map(|(id, _)| id.clone()).collect();
        for run_id in due {
            let Some(run) = self.runs.get_mut(&run_id) else { continue };
            // Once is enough: its end is reported when it comes, and refused if another has it.
            run.lease_until_ms = None;
            run.ending.get_or_insert(Ending::Fenced);
            // A place in a fleet is not over with that: it is lost, and queued again by the store.
            run.is_lost = run.is_hold;
            let epoch = run.epoch;
            self.out.push(Output::Say(Said::Fenced { run_id: run_id.clone() }));
            self.signal_all(&run_id, epoch, &Signal::Kill);
        }
    }

    /// The store has given these to another, or they have ended there.
    pub(super) fn lose(&mut self, lost: &[frame::Held]) {
        for frame::Held { run_id, epoch } in lost {
            self.lose_older(run_id, epoch + 1);
        }
    }

    /// What is held of a run with an epoch below `epoch` is lost.
    pub(super) fn lose_older(&mut self, run_id: &RunId, epoch: u64) {
        let Some(run) = self.runs.get_mut(run_id) else { return };
        if run.epoch >= epoch || run.is_lost {
            return;
        }
        run.is_lost = true;
        let held = run.epoch;
        self.out.push(Output::Say(Said::Lost { run_id: run_id.clone() }));
        match run.stage {
            Stage::Waiting(_) | Stage::Ended => self.drop_run(run_id),
            Stage::Starting | Stage::Running | Stage::Closing(_) => {
                self.signal_all(run_id, held, &Signal::Kill);
            }
        }
    }

    /// Tells the program of a run, and all that is beside it.
    fn signal_all(&mut self, run_id: &RunId, epoch: u64, signal: &Signal) {
        let program = ProgramId::of_run(run_id.clone(), epoch);
        self.out.push(Output::Signal { program, signal: signal.clone() });
        self.signal_beside(run_id, epoch, signal);
    }

    pub(super) fn signal(
        &mut self,
        now: Moment,
        run_id: &RunId,
        epoch: u64,
        signal: Signal,
    ) -> Verdict {
        let verdict = self.check_held(run_id, epoch);
        let Some(run) = self.runs.get_mut(run_id).filter(|_| verdict.code == ReplyCode::Done)
        else {
            return verdict;
        };
        match (&run.stage, &signal) {
            (Stage::Ended, _) => return verdict,
            (Stage::Waiting(_), Signal::Stop { .. } | Signal::Kill) => {
                run.ending = Some(Ending::Asked);
                let exited = Process::Exited { ended: Box::new(never_started()) };
                self.program(now, ProgramId::of_run(run_id.clone(), epoch), exited);
                return verdict;
            }
            (Stage::Waiting(_), _) => {
                return Verdict::not(ReplyCode::Rejected, "its program has not started");
            }
            (_, Signal::Stop { .. } | Signal::Kill) => run.ending = Some(Ending::Asked),
            (_, Signal::Pause) => run.is_paused = true,
            (_, Signal::Resume) => run.is_paused = false,
        }
        self.signal_all(run_id, epoch, &signal);
        verdict
    }

    /// Something about a program.
    pub(super) fn program(&mut self, now: Moment, program: ProgramId, process: Process) {
        let ProgramId { lease, dispatch } = program;
        match dispatch {
            Some(dispatch) => self.beside(now, &lease, &dispatch, process),
            None => self.process(now, lease, process),
        }
    }

    fn process(&mut self, now: Moment, Lease { run_id, epoch }: Lease, process: Process) {
        let Some(run) = self.runs.get_mut(&run_id).filter(|run| run.epoch == epoch) else { return };
        if matches!(run.stage, Stage::Ended | Stage::Closing(_)) {
            return;
        }
        let how = match process {
            Process::Started => {
                run.stage = Stage::Running;
                return self.begun(now, run_id, epoch);
            }
            Process::Failed { reason } => failed(reason),
            Process::Exited { ended: how } => ended(*how, run.ending),
            Process::Lapsed { ended: how } => {
                // Nothing failed that only waited: somebody may hold it again.
                run.is_lost |= run.is_hold;
                if run.ending.is_none() {
                    self.out.push(Output::Say(Said::Fenced { run_id: run_id.clone() }));
                }
                ended(*how, run.ending)
            }
        };
        run.stage = Stage::Closing(Box::new(how));
        self.end_beside(&run_id, epoch);
        self.over_if_alone(now, &Lease { run_id, epoch });
    }

    /// The program of a run runs. What it writes comes behind that.
    fn begun(&mut self, now: Moment, run_id: RunId, epoch: u64) {
        let program = ProgramId::of_run(run_id, epoch);
        self.keep_report(now, &program, Happened::Started {});
        self.out.push(Output::Watch { program });
    }

    /// A run whose program has ended is over when nothing beside it is at work.
    pub(super) fn over_if_alone(&mut self, now: Moment, Lease { run_id, epoch }: &Lease) {
        if self.beside.is_any(run_id, *epoch) {
            return;
        }
        let Some(run) = self.runs.get_mut(run_id).filter(|run| run.epoch == *epoch) else { return };
        if !matches!(run.stage, Stage::Closing(_)) {
            return;
        }
        let Stage::Closing(how) = std::mem::replace(&mut run.stage, Stage::Ended) else { return };
        if run.is_lost {
            return self.drop_run(run_id);
        }
        let program = ProgramId::of_run(run_id.clone(), *epoch);
        self.keep_report(now, &program, Happened::Ended(*how));
    }

    /// Keeps how a run stands, and what its session shows of that.
    fn keep_report(&mut self, now: Moment, program: &ProgramId, what: Happened) {
        let Some(run) = self.runs.get(&program.lease.run_id).filter(|run| !run.is_lost) else {
            return;
        };
        let session_id = run.session_id.clone();
        // What a session shows of its host lies between the beginning and the end of its run.
        let told = host_event(&self.options.executor_id, program, run.member.as_ref(), &what);
        let mut drafts = vec![what, told];
        if matches!(drafts.first(), Some(Happened::Ended(_))) {
            drafts.reverse();
        }
        let drafts =
            drafts.into_iter().map(|what| Draft::of(program, session_id.clone(), now.wall, what));
        self.out.extend(drafts.map(Output::Keep));
    }

    /// Runs whose end the access point has kept are known no more.
    pub(super) fn drop_reported(&mut self) {
        let is_over = |run: &Held| run.end_seq.is_some_and(|seq| self.is_reported(seq));
        let over: Vec<RunId> =
            self.runs.iter().filter(|(_, run)| is_over(run)).map(|(id, _)| id.clone()).collect();
        for run_id in over {
            self.drop_run(&run_id);
        }
    }

    fn drop_run(&mut self, run_id: &RunId) {
        if let Some(run) = self.runs.remove(run_id) {
            self.beside.forget(run_id, run.epoch);
            let program = ProgramId::of_run(run_id.clone(), run.epoch);
            self.out.push(Output::Drop { program });
        }
    }

    /// What was named on a connection before has to be named again on the next.
    pub(super) fn unname(&mut self) {
        self.runs.values_mut().for_each(|run| run.named_in = None);
    }
}

/// What the session shows of its host.
pub(super) fn host_event(
    executor: &ExecutorId,
    program: &ProgramId,
    member: Option<&MemberName>,
    what: &Happened,
) -> Happened {
    let Lease { run_id, epoch } = &program.lease;
    let (kind, mut data) = match what {
        Happened::Ended(Ended { outcome, error, exit, .. }) => {
            let exit = json!({ "code": exit.code, "signal": exit.signal, "reason": exit.reason });
            let data = json!({
                "executorId": executor, "runId": run_id, "epoch": epoch,
                "outcome": outcome, "error": error, "exit": exit,
            });
            ("hostExited", data)
        }
        Happened::Started {} | Happened::Event { .. } => {
            ("hostStarted", json!({ "executorId": executor, "runId": run_id, "epoch": epoch }))
        }
    };
    name_program(&mut data, program, member);
    let data = RawJson::of(&data).unwrap_or_else(|_| RawJson::null());
    Happened::Event { kind: kind.to_owned(), data }
}

/// Of a run that was stopped before its program started.
fn never_started() -> Ended {
    Ended { outcome: RunOutcome::Stopped, error: None, ..failed(String::new()) }
}

pub(super) fn failed(reason: String) -> Ended {
    Ended {
        outcome: RunOutcome::Failed,
        error: Some(reason),
        result: None,
        idle: false,
        exit: Exit::default(),
    }
}

/// How a run ended whose program was about to be ended for that reason.
fn ended(ended: Ended, ending: Option<Ending>) -> Ended {
    let (outcome, error) = match (ending, ended.outcome) {
        (Some(Ending::Fenced), _) => {
            (RunOutcome::Failed, Some("its lease could not be prolonged in time".to_owned()))
        }
        (Some(Ending::Asked), RunOutcome::Failed) => (RunOutcome::Stopped, None),
        (_, outcome) => (outcome, ended.error),
    };
    Ended { outcome, error, ..ended }
}
