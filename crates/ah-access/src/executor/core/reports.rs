//! Reports: read from the outbox, sent in order, forgotten when the access point has kept them.

use ah_model::{OutboxId, ReportItem, ReportRefusal, ReportRefusalReason};

use super::Agent;
use super::input::{Output, Stream};
use super::link::Line;
use crate::frame::{Report, ReportAck};

/// How far the reports are.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) outbox: OutboxId,
    /// The newest in the outbox.
    pub(super) last_seq: u64,
    /// Kept by the access point.
    through: u64,
    /// Sent on this connection.
    sent: u64,
    /// Frames that are sent and not acknowledged, by the last number in each.
    waiting: std::collections::VecDeque<u64>,
    reading: bool,
}

impl Progress {
    pub(super) fn new(outbox: OutboxId, through: u64, last_seq: u64) -> Self {
        let waiting = std::collections::VecDeque::new();
        Self { outbox, last_seq, through, sent: through, waiting, reading: false }
    }

    /// The connection is gone: what was not acknowledged is sent again on the next.
    pub(super) fn unsent(&mut self) {
        self.sent = self.through;
        self.waiting.clear();
    }
}

fn unsure(seq: u64) -> ReportRefusal {
    let detail = Some("the answer was lost: it was kept, or refused".to_owned());
    ReportRefusal { seq, reason: ReportRefusalReason::Other, detail }
}

impl Agent {
    pub(super) fn kept(&mut self, last_seq: u64, ends: &[(ah_model::RunId, u64, u64)]) {
        self.reports.last_seq = self.reports.last_seq.max(last_seq);
        for (run_id, epoch, seq) in ends {
            if let Some(run) = self.runs.get_mut(run_id).filter(|run| run.epoch == *epoch) {
                run.end_seq = Some(*seq);
            }
        }
        self.drop_reported();
    }

    pub(super) fn read_if_due(&mut self) {
        let Line::Up(up) = &self.line else { return };
        let has_room = (self.reports.waiting.len() as u64) < up.config.reports_max;
        if self.reports.reading || !has_room || self.reports.sent >= self.reports.last_seq {
            return;
        }
        self.reports.reading = true;
        self.out.push(Output::Read { after: self.reports.sent });
    }

    pub(super) fn read(&mut self, mut items: Vec<ReportItem>) {
        self.reports.reading = false;
        let Line::Up(up) = &self.line else { return };
        let dial = up.dial;
        // It may have been asked for on a connection before, with another beginning.
        items.retain(|item| item.seq > self.reports.sent);
        let is_next = items.first().is_some_and(|item| item.seq == self.reports.sent + 1);
        let Some(last) = items.last().map(|item| item.seq).filter(|_| is_next) else { return };
        self.reports.sent = last;
        self.reports.waiting.push_back(last);
        let report = Report { outbox_id: self.reports.outbox.clone(), items };
        self.send(dial, Stream::Reports, report);
    }

    pub(super) fn reported(&mut self, ack: ReportAck) {
        if ack.outbox_id != self.reports.outbox {
            return;
        }
        let ReportAck { through, refused, .. } = ack;
        self.reports.waiting.retain(|last| *last > through);
        self.forget(through, refused);
    }

    /// An access point says, when it greets, how far it has the outbox.
    pub(super) fn kept_there(&mut self, through: u64) {
        // Their acknowledgement was lost, and with it whether one of them was refused.
        let unsure = (self.reports.through + 1..=through.min(self.reports.last_seq)).map(unsure);
        let unsure = unsure.collect();
        self.forget(through, unsure);
        self.reports.unsent();
    }

    fn forget(&mut self, through: u64, refused: Vec<ReportRefusal>) {
        if through <= self.reports.through && refused.is_empty() {
            return;
        }
        self.reports.through = self.reports.through.max(through);
        self.reports.sent = self.reports.sent.max(self.reports.through);
        self.out.push(Output::Forget { through, refused });
        self.drop_reported();
    }

    /// Whether the access point has kept everything up to there.
    pub(super) fn is_reported(&self, seq: u64) -> bool {
        seq <= self.reports.through
    }
}
