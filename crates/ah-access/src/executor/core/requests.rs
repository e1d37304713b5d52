//! Requests of the access point, answered once each.

use ah_model::{RawJson, RequestId, RunId};

use super::Agent;
use super::input::{Output, Signal, Stream, Verdict};
use crate::frame::{Frame, Launch, PauseMode, Reply, ReplyCode};
use crate::moment::Moment;

/// How many answers are remembered.
const ANSWERED_MAX: usize = 1_024;
/// Most runs that only hold this executor: with its other runs they fit into a heartbeat.
const HOLDS_MAX: usize = 256;

pub(super) fn done() -> Verdict {
    Verdict { code: ReplyCode::Done, detail: None, data: RawJson::null() }
}

impl Agent {
    pub(super) fn request(&mut self, now: Moment, dial: u64, frame: Frame) {
        let Some(head) = frame.request_head().cloned() else {
            return self.out.push(Output::Close { dial, word: "frame-misplaced" });
        };
        if let Some((_, reply)) = self.answered.iter().find(|(id, _)| *id == head.id) {
            let reply = reply.clone();
            return self.send(dial, Stream::Request(head.id), reply);
        }
        if self.joins_fence(dial, &head.id) {
            return;
        }
        let verdict = match frame {
            Frame::Launch(launch) => self.launch(now, *launch),
            Frame::Stop(stop) => {
                let signal = Signal::Stop { grace_ms: stop.grace_ms };
                self.signal(now, &stop.run_id, stop.epoch, signal)
            }
            Frame::Cancel(cancel) => self.signal(now, &cancel.run_id, cancel.epoch, Signal::Kill),
            Frame::Pause(pause) if pause.mode == PauseMode::Suspend => {
                self.signal(now, &pause.run_id, pause.epoch, Signal::Pause)
            }
            Frame::Pause(_) => {
                let detail = "a checkpoint needs a file system that has snapshots";
                Verdict::not(ReplyCode::Unsupported, detail)
            }
            Frame::Resume(resume) => self.signal(now, &resume.run_id, resume.epoch, Signal::Resume),
            Frame::Fence(fence) => match self.fence(dial, fence) {
                Some(verdict) => verdict,
                None => return,
            },
            Frame::Dispatch(dispatch) => match self.dispatch(now, dial, dispatch) {
                Some(verdict) => verdict,
                None => return,
            },
            _ => Verdict::not(ReplyCode::Unsupported, "no executor does such a thing"),
        };
        self.answer(dial, &head.id, verdict);
    }

    pub(super) fn answer(&mut self, dial: u64, request: &RequestId, verdict: Verdict) {
        let Verdict { code, detail, data } = verdict;
        let reply = Reply { request_id: request.clone(), code, detail, data };
        if self.answered.len() >= ANSWERED_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back((request.clone(), reply.clone()));
        self.send(dial, Stream::Request(request.clone()), reply);
    }

    fn launch(&mut self, now: Moment, launch: Launch) -> Verdict {
        let rejected = |why: &str| Verdict::not(ReplyCode::Rejected, why);
        match self.runs.get(&launch.run_id) {
            Some(held) if held.epoch == launch.epoch => return done(),
            Some(held) if held.epoch > launch.epoch => {
                let detail = format!("epoch {} is held already", held.epoch);
                return Verdict::not(ReplyCode::StaleEpoch, detail);
            }
            Some(_) => {
                // The store has given it away and back; what runs of it is on its way out.
                self.lose_older(&launch.run_id, launch.epoch);
                return rejected("the program of an older claim has not ended yet");
            }
            None if self.leaving => return rejected("the executor is about to stop"),
            None if self.is_full(launch.is_hold()) => return rejected("all places are taken"),
            None => {}
        }
        self.hold(now, launch);
        done()
    }

    /// Whether there is no place for another run. Those that only hold this executor have places of
    /// their own: without them, one that works on one run at a time could run no step of a fleet.
    fn is_full(&self, is_hold: bool) -> bool {
        let taken = self.runs.values().filter(|run| run.is_hold == is_hold).count();
        taken >= if is_hold { HOLDS_MAX } else { self.options.capacity as usize }
    }

    pub(super) fn check_held(&self, run_id: &RunId, epoch: u64) -> Verdict {
        match self.runs.get(run_id) {
            Some(held) if held.epoch == epoch && !held.is_lost() => done(),
            Some(held) => {
                let detail = format!("epoch {} is held, not {epoch}", held.epoch);
                Verdict::not(ReplyCode::StaleEpoch, detail)
            }
            None => Verdict::not(ReplyCode::UnknownRun, "it is not held here"),
        }
    }
}
