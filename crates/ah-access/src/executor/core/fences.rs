//! Fences: reached by others while the executor goes on, and answered when they are done.
//!
//! Invariant: at most one fence of a run is being reached.

use ah_model::{RequestId, RunId};

use super::Agent;
use super::input::{Output, Verdict};
use super::runs::Held;
use crate::frame::{Fence, ReplyCode};

/// Most fences that are being reached at a time: each reads a whole directory.
const FENCES_MAX: usize = 16;

/// A fence that is being reached.
#[derive(Debug)]
pub(super) struct Fencing {
    dial: u64,
    run_id: RunId,
    epoch: u64,
}

impl Agent {
    /// Whether the same request is at work: its answer goes to whoever asked last.
    pub(super) fn joins_fence(&mut self, dial: u64, request: &RequestId) -> bool {
        let joined = self.fences.get_mut(request);
        joined.map(|fencing| fencing.dial = dial).is_some()
    }

    /// Begins to reach a fence; the answer, if there is one at once.
    pub(super) fn fence(&mut self, dial: u64, fence: Box<Fence>) -> Option<Verdict> {
        let verdict = self.check_held(&fence.run_id, fence.epoch);
        let Some(run) = self.runs.get(&fence.run_id).filter(|_| verdict.code == ReplyCode::Done)
        else {
            return Some(verdict);
        };
        if !run.is_hold {
            let detail = "the run holds no member of a fleet";
            return Some(Verdict::not(ReplyCode::Failed, detail));
        }
        if !run.is_at_work() {
            return Some(Verdict::not(ReplyCode::Rejected, "the run is not at work"));
        }
        // Two of them would change one directory at once.
        self.end_fences("another fence of the run takes its place", |of| of.run_id == fence.run_id);
        if self.fences.len() >= FENCES_MAX {
            let detail = format!("{FENCES_MAX} fences are being reached");
            return Some(Verdict::not(ReplyCode::Rejected, detail));
        }
        let (run_id, epoch) = (fence.run_id.clone(), fence.epoch);
        self.fences.insert(fence.request.id.clone(), Fencing { dial, run_id, epoch });
        self.out.push(Output::Fence(fence));
        None
    }

    pub(super) fn fenced(&mut self, request: &RequestId, verdict: Verdict) {
        // One that was given up meanwhile is answered.
        if let Some(fencing) = self.fences.remove(request) {
            self.answer(fencing.dial, request, verdict);
        }
    }

    /// The streams of that connection are dropped: one, or all of them.
    pub(super) fn take_back(&mut self, dial: u64, request: Option<&RequestId>) {
        let is_it = |id: &RequestId, of: &mut Fencing| {
            of.dial == dial && request.is_none_or(|request| request == id)
        };
        for (request, _) in self.fences.extract_if(.., is_it) {
            self.out.push(Output::Unfence { request });
        }
    }

    pub(super) fn end_fences_of_lost_runs(&mut self) {
        let runs = std::mem::take(&mut self.runs);
        let is_held =
            |run: Option<&Held>, epoch| run.is_some_and(|it| it.epoch == epoch && it.is_at_work());
        self.end_fences("the run has ended", |of| !is_held(runs.get(&of.run_id), of.epoch));
        self.runs = runs;
    }

    fn end_fences(&mut self, why: &str, is_it: impl Fn(&Fencing) -> bool) {
        let over: Vec<_> = self.fences.extract_if(.., |_, of| is_it(of)).collect();
        for (request, Fencing { dial, .. }) in over {
            self.answer(dial, &request, Verdict::not(ReplyCode::Cancelled, why));
            self.out.push(Output::Unfence { request });
        }
    }
}
