//! Heartbeats: that the executor lives, what it holds, and how long it may go on with it.

use super::Agent;
use super::input::Stream;
use super::link::Line;
use crate::frame::{Heartbeat, HeartbeatAck, HeldRun};
use crate::moment::Moment;

impl Agent {
    /// A heartbeat goes out at once: a run waits for its answer.
    pub(super) fn beat_soon(&mut self, now: Moment) {
        if let Line::Up(up) = &mut self.line {
            up.beat_at_ms = now.ms;
        }
    }

    pub(super) fn beat_if_due(&mut self, now: Moment) {
        let Line::Up(up) = &mut self.line else { return };
        if !now.is_past(up.beat_at_ms) {
            return;
        }
        up.beats += 1;
        up.beat_at_ms = now.ms + up.config.heartbeat_ms;
        up.unanswered.push_back((up.beats, now.ms));
        let (dial, beat) = (up.dial, up.beats);
        let held = self.runs.iter().filter(|(_, run)| !run.is_lost()).map(|(id, run)| HeldRun {
            run_id: id.clone(),
            epoch: run.epoch,
            state: run.state(),
        });
        let heartbeat = Heartbeat {
            beat,
            sent_at: now.wall,
            uptime_ms: now.ms.saturating_sub(self.began_ms),
            load: self.load.clone(),
            held: held.collect(),
        };
        for held in &heartbeat.held {
            if let Some(run) = self.runs.get_mut(&held.run_id) {
                run.named_in.get_or_insert(beat);
            }
        }
        self.send(dial, Stream::Control, heartbeat);
    }

    pub(super) fn beat_answered(&mut self, now: Moment, ack: HeartbeatAck) {
        let Line::Up(up) = &mut self.line else { return };
        let sent_ms = up.unanswered.iter().find(|(beat, _)| *beat == ack.beat).map(|(_, at)| *at);
        up.unanswered.retain(|(beat, _)| *beat > ack.beat);
        let Some(sent_ms) = sent_ms else { return };
        self.lose(&ack.lost);
        if let Some(left_ms) = ack.lease_left_ms {
            // The lease runs from when the access point heard it, which is later than it was sent. A
            // tenth is left out for clocks that do not run equally fast.
            self.keep(now, ack.beat, sent_ms + left_ms - left_ms / 10);
        }
    }
}
