//! Requests of the access point, answered once each.

use ah_model::RunId;

use super::Agent;
use super::input::{Output, Signal, Stream};
use crate::frame::{Frame, Launch, PauseMode, Reply, ReplyCode, RequestHead};
use crate::moment::Moment;

/// How many answers are remembered.
const ANSWERED_MAX: usize = 1_024;

/// An answer: the code and, unless it is done, why.
type Verdict = (ReplyCode, Option<String>);

const DONE: Verdict = (ReplyCode::Done, None);

impl Agent {
    pub(super) fn request(&mut self, now: Moment, dial: u64, frame: Frame) {
        let Some(head) = frame.request_head().cloned() else {
            return self.out.push(Output::Close { dial, word: "frame-misplaced" });
        };
        if let Some((_, reply)) = self.answered.iter().find(|(id, _)| *id == head.id) {
            let reply = reply.clone();
            return self.send(dial, Stream::Request(head.id), reply);
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
                let detail = "a checkpoint needs a file system that has snapshots".to_owned();
                (ReplyCode::Unsupported, Some(detail))
            }
            Frame::Resume(resume) => self.signal(now, &resume.run_id, resume.epoch, Signal::Resume),
            // Nothing here starts programs beside a run, or takes snapshots.
            _ => (ReplyCode::Unsupported, None),
        };
        self.answer(dial, head, verdict);
    }

    fn answer(&mut self, dial: u64, head: RequestHead, (code, detail): Verdict) {
        let data = ah_model::RawJson::null();
        let reply = Reply { request_id: head.id.clone(), code, detail, data };
        if self.answered.len() >= ANSWERED_MAX {
            self.answered.pop_front();
        }
        self.answered.push_back((head.id.clone(), reply.clone()));
        self.send(dial, Stream::Request(head.id), reply);
    }

    fn launch(&mut self, now: Moment, launch: Launch) -> Verdict {
        let rejected = |why: &str| (ReplyCode::Rejected, Some(why.to_owned()));
        match self.runs.get(&launch.run_id) {
            Some(held) if held.epoch == launch.epoch => return DONE,
            Some(held) if held.epoch > launch.epoch => {
                let detail = format!("epoch {} is held already", held.epoch);
                return (ReplyCode::StaleEpoch, Some(detail));
            }
            Some(_) => {
                // The store has given it away and back; what runs of it is on its way out.
                self.lose_older(&launch.run_id, launch.epoch);
                return rejected("the program of an older claim has not ended yet");
            }
            None if self.leaving => return rejected("the executor is about to stop"),
            None if self.runs.len() >= self.options.capacity as usize => {
                return rejected("all places are taken");
            }
            None => {}
        }
        self.hold(now, launch);
        DONE
    }

    pub(super) fn check_held(&self, run_id: &RunId, epoch: u64) -> Verdict {
        match self.runs.get(run_id) {
            Some(held) if held.epoch == epoch && !held.is_lost() => DONE,
            Some(held) => {
                let detail = format!("epoch {} is held, not {epoch}", held.epoch);
                (ReplyCode::StaleEpoch, Some(detail))
            }
            None => (ReplyCode::UnknownRun, Some("it is not held here".to_owned())),
        }
    }
}
