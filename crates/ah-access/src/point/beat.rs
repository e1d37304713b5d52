//! Heartbeats: who lives, and what they hold. Nothing here reaches a disk.

use super::Point;
use super::input::{ConnectionId, Stream};
use crate::frame::{Heartbeat, HeartbeatAck, HeldRun};
use crate::moment::Moment;

impl Point {
    pub(super) fn heartbeat(&mut self, now: Moment, id: ConnectionId, beat: Heartbeat) {
        self.counts.beats += 1;
        let Some(presence) = self.presence_mut(id) else { return };
        if beat.beat <= presence.beats {
            let detail = format!("heartbeat {} after {}", beat.beat, presence.beats);
            return self.break_off(id, "beat-replayed", &detail);
        }
        presence.beats = beat.beat;
        presence.heard_ms = now.ms;
        presence.load = beat.load;
        for held in &beat.held {
            presence.hear(held, beat.beat);
        }
        let lease_left_ms = presence.lease_left_ms(&beat.held, now.ms);
        let lost = std::mem::take(&mut presence.lost);
        let is_amiss = presence.assignments.values().any(|run| presence.is_unnamed(run));
        let ack = HeartbeatAck { beat: beat.beat, now: now.wall, lease_left_ms, lost };
        self.send(id, Stream::Control, ack);
        if is_amiss {
            self.audit(id);
        }
    }
}

impl super::Presence {
    /// Notes what it says of a run; one that is not its own is lost.
    fn hear(&mut self, held: &HeldRun, beat: u64) {
        match self.assignments.get_mut(&held.run_id) {
            Some(assignment) if assignment.epoch == held.epoch => {
                (assignment.state, assignment.named_beat) = (Some(held.state), beat);
            }
            _ => self.lose(&held.run_id, held.epoch),
        }
    }

    /// How long the store surely keeps all that it named for it; nothing when it named nothing, or
    /// when that is not known yet.
    fn lease_left_ms(&self, held: &[HeldRun], now_ms: u64) -> Option<u64> {
        let own = |held: &&HeldRun| {
            let assignment = self.assignments.get(&held.run_id);
            assignment.is_some_and(|assignment| assignment.epoch == held.epoch)
        };
        let until = |held: &HeldRun| self.assignments.get(&held.run_id)?.lease_until_ms;
        let untils: Option<Vec<u64>> = held.iter().filter(own).map(until).collect();
        Some(untils?.into_iter().min()?.saturating_sub(now_ms))
    }
}
