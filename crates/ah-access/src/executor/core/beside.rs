//! Programs beside runs: started on request, told of like the program of a run, ended with it.
//!
//! Invariants: a request starts a program once, for what it started is remembered after its end, and
//! after the executor's; of a run that has ended nothing runs any more, and its end is told last.

use std::collections::BTreeMap;

use ah_model::{Happened, Lease, MemberName, RequestId, RunId, SessionId};

use super::Agent;
use super::input::{Output, Process, RestoredBeside, Signal, Verdict};
use super::requests::done;
use super::runs::{Held, failed, host_event};
use crate::executor::ProgramId;
use crate::executor::outbox::Draft;
use crate::frame::{Dispatch, ReplyCode};
use crate::moment::Moment;

/// Most programs that are at work beside runs.
const AT_WORK_MAX: usize = 64;
/// Most programs that have ended and are remembered; the oldest are forgotten first.
const ENDED_MAX: usize = 1_024;
/// How long they have to end well when the program of their run has ended.
const GRACE_MS: u64 = 5_000;

/// All that was started beside runs.
#[derive(Debug, Default)]
pub(super) struct Besides {
    all: BTreeMap<RequestId, Beside>,
    /// How many have ended so far: who ended first is known by that.
    ended: u64,
}

/// A program beside a run.
#[derive(Debug)]
struct Beside {
    lease: Lease,
    session_id: SessionId,
    member: Option<MemberName>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Being started for whoever asked on the connection of that dial.
    Starting {
        dial: u64,
    },
    Running,
    /// The so-many-th that ended.
    Ended {
        number: u64,
    },
}

impl Beside {
    fn is_of(&self, run_id: &RunId, epoch: u64) -> bool {
        self.lease.run_id == *run_id && self.lease.epoch == epoch
    }

    fn is_at_work(&self) -> bool {
        !matches!(self.stage, Stage::Ended { .. })
    }
}

impl Besides {
    /// Whether anything beside a run is at work.
    pub(super) fn is_any(&self, run_id: &RunId, epoch: u64) -> bool {
        self.all.values().any(|one| one.is_of(run_id, epoch) && one.is_at_work())
    }

    /// A run is known no more.
    pub(super) fn forget(&mut self, run_id: &RunId, epoch: u64) {
        self.all.retain(|_, one| !one.is_of(run_id, epoch));
    }

    fn end(&mut self, dispatch: &RequestId) {
        self.ended += 1;
        if let Some(one) = self.all.get_mut(dispatch) {
            one.stage = Stage::Ended { number: self.ended };
        }
    }

    /// The one that ended first, if there are too many.
    fn one_too_many(&self) -> Option<RequestId> {
        let over = self.all.iter().filter_map(|(id, one)| match one.stage {
            Stage::Ended { number } => Some((number, id)),
            Stage::Starting { .. } | Stage::Running => None,
        });
        let (count, oldest) = over.fold((0, None), |(count, oldest), one| {
            (count + 1, oldest.map_or(Some(one), |before: (u64, _)| Some(before.min(one))))
        });
        oldest.filter(|_| count > ENDED_MAX).map(|(_, id)| id.clone())
    }
}

impl Agent {
    /// Begins to start a program beside a run; the answer, if there is one at once.
    pub(super) fn dispatch(
        &mut self,
        now: Moment,
        dial: u64,
        dispatch: Box<Dispatch>,
    ) -> Option<Verdict> {
        let id = dispatch.request.id.clone();
        if let Some(known) = self.beside.all.get_mut(&id) {
            return known.asked_again(dial, &dispatch);
        }
        let verdict = self.check_held(&dispatch.run_id, dispatch.epoch);
        let Some(run) = self.runs.get(&dispatch.run_id).filter(|_| verdict.code == ReplyCode::Done)
        else {
            return Some(verdict);
        };
        let until_ms = match self.sure_until(now, run) {
            Ok(until_ms) => until_ms,
            Err(why) => return Some(Verdict::not(ReplyCode::Rejected, why)),
        };
        let (run_id, epoch) = (dispatch.run_id.clone(), dispatch.epoch);
        let beside = Beside {
            lease: Lease { run_id, epoch },
            session_id: run.session_id.clone(),
            member: run.member.clone(),
            stage: Stage::Starting { dial },
        };
        self.beside.all.insert(id, beside);
        self.out.push(Output::Dispatch { dispatch, until_ms });
        None
    }

    /// Until when something may be started beside a run, or why not.
    fn sure_until(&self, now: Moment, run: &Held) -> Result<u64, String> {
        let at_work = self.beside.all.values().filter(|one| one.is_at_work()).count();
        let why = match run.surely_until_ms().filter(|until_ms| *until_ms > now.ms) {
            _ if self.leaving => "the executor is about to stop",
            _ if run.is_waiting() => "the program of the run has not started",
            _ if !run.is_at_work() => "the run is ending",
            _ if run.is_paused() => "the run is paused",
            None => "the executor does not know whether the run is still its own",
            Some(_) if at_work >= AT_WORK_MAX => {
                return Err(format!(
                    "{at_work} programs are at work beside runs here, which is the most"
                ));
            }
            Some(until_ms) => return Ok(until_ms),
        };
        Err(why.to_owned())
    }

    pub(super) fn restore_beside(&mut self, now: Moment, run_id: &RunId, found: RestoredBeside) {
        let Some(run) = self.runs.get(run_id) else { return };
        let lease = Lease { run_id: run_id.clone(), epoch: run.epoch };
        let (session_id, member) = (run.session_id.clone(), run.member.clone());
        let beside = Beside { lease: lease.clone(), session_id, member, stage: Stage::Running };
        let RestoredBeside { dispatch, has_begun, is_told } = found;
        self.beside.all.insert(dispatch.clone(), beside);
        if is_told {
            return self.beside.end(&dispatch);
        }
        if has_begun {
            self.tell_beside(now, &dispatch, &Happened::Started {});
        }
        let program = ProgramId { lease, dispatch: Some(dispatch) };
        self.out.push(Output::Watch { program });
    }

    /// Something about a program beside a run.
    pub(super) fn beside(&mut self, now: Moment, lease: &Lease, dispatch: &RequestId, is: Process) {
        let Some(one) = self.beside.all.get_mut(dispatch) else { return };
        if one.lease != *lease {
            return;
        }
        let how = match (one.stage, is) {
            (Stage::Ended { .. }, _) | (Stage::Running, Process::Started) => return,
            (Stage::Starting { dial }, Process::Started) => {
                one.stage = Stage::Running;
                return self.beside_started(now, lease, dispatch, dial);
            }
            (Stage::Starting { dial }, Process::Failed { reason }) => {
                self.beside.all.remove(dispatch);
                self.answer(dial, dispatch, Verdict::not(ReplyCode::Failed, reason));
                return self.over_if_alone(now, lease);
            }
            (Stage::Running, Process::Failed { reason }) => failed(reason),
            (_, Process::Exited { ended } | Process::Lapsed { ended }) => *ended,
        };
        self.beside.end(dispatch);
        self.tell_beside(now, dispatch, &Happened::Ended(how));
        let program = ProgramId { lease: lease.clone(), dispatch: Some(dispatch.clone()) };
        self.out.push(Output::Told { program });
        if let Some(oldest) = self.beside.one_too_many()
            && let Some(one) = self.beside.all.remove(&oldest)
        {
            let program = ProgramId { lease: one.lease, dispatch: Some(oldest) };
            self.out.push(Output::Drop { program });
        }
        self.over_if_alone(now, lease);
    }

    fn beside_started(&mut self, now: Moment, lease: &Lease, dispatch: &RequestId, dial: u64) {
        self.answer(dial, dispatch, done());
        self.tell_beside(now, dispatch, &Happened::Started {});
        let program = ProgramId { lease: lease.clone(), dispatch: Some(dispatch.clone()) };
        self.out.push(Output::Watch { program: program.clone() });
        // Whoever ended the run meanwhile could not tell it.
        let is_wanted = self.runs.get(&lease.run_id).is_some_and(Held::is_at_work);
        if !is_wanted {
            self.out.push(Output::Signal { program, signal: Signal::Stop { grace_ms: GRACE_MS } });
        }
    }

    /// What the session shows of it, unless its run is another's by now.
    fn tell_beside(&mut self, now: Moment, dispatch: &RequestId, what: &Happened) {
        let Some(one) = self.beside.all.get(dispatch) else { return };
        if self.runs.get(&one.lease.run_id).is_none_or(Held::is_lost) {
            return;
        }
        let program = ProgramId { lease: one.lease.clone(), dispatch: Some(dispatch.clone()) };
        let told = host_event(&self.options.executor_id, &program, one.member.as_ref(), what);
        let session_id = one.session_id.clone();
        let draft = Draft::of(&program, session_id, now.wall, told);
        self.out.push(Output::Keep(draft));
    }

    /// Tells all that is at work beside a run.
    pub(super) fn signal_beside(&mut self, run_id: &RunId, epoch: u64, signal: &Signal) {
        let these = self.beside.all.iter().filter(|(_, one)| one.is_of(run_id, epoch));
        for (dispatch, _) in these.filter(|(_, one)| one.is_at_work()) {
            let lease = Lease { run_id: run_id.clone(), epoch };
            let program = ProgramId { lease, dispatch: Some(dispatch.clone()) };
            self.out.push(Output::Signal { program, signal: signal.clone() });
        }
    }

    /// The program of a run has ended: what is beside it ends, too.
    pub(super) fn end_beside(&mut self, run_id: &RunId, epoch: u64) {
        self.signal_beside(run_id, epoch, &Signal::Stop { grace_ms: GRACE_MS });
    }
}

impl Beside {
    /// The same request again: it is being started, or was.
    fn asked_again(&mut self, by: u64, dispatch: &Dispatch) -> Option<Verdict> {
        if !self.is_of(&dispatch.run_id, dispatch.epoch) {
            let Lease { run_id, epoch } = &self.lease;
            let detail = format!("the request is known here, for run {run_id} of epoch {epoch}");
            return Some(Verdict::not(ReplyCode::Rejected, detail));
        }
        match &mut self.stage {
            Stage::Starting { dial } => {
                *dial = by;
                None
            }
            Stage::Running | Stage::Ended { .. } => Some(done()),
        }
    }
}
