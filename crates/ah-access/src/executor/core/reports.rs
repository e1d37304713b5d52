//! Reports: read from the outbox, sent in order, forgotten when the access point has kept them.

use ah_model::{OutboxId, ReportItem, ReportRefusal, ReportRefusalReason};

use super::Agent;
use super::input::{Output, Restored, Said, Stream};
use super::link::Line;
use crate::frame::{Outbox, Report, ReportAck};
use crate::moment::Moment;

/// How far the reports are. Numbers are those of this machine, which go on when another outbox is
/// begun; the access point's begin with 1 in each.
#[derive(Debug)]
pub(super) struct Progress {
    outbox: OutboxId,
    /// The report before the first of the outbox.
    base: u64,
    /// The newest in the outbox.
    last_seq: u64,
    /// Kept by the access point.
    through: u64,
    /// Sent on this connection.
    sent: u64,
    /// Frames that are sent and not acknowledged, by the last number in each.
    waiting: std::collections::VecDeque<u64>,
    reading: bool,
    /// Another outbox is being begun.
    renewing: bool,
}

impl Progress {
    pub(super) fn new(restored: &Restored) -> Self {
        let Restored { outbox, base, through, last_seq, .. } = restored;
        Self {
            outbox: outbox.clone(),
            base: *base,
            last_seq: *last_seq,
            through: *through,
            sent: *through,
            waiting: std::collections::VecDeque::new(),
            reading: false,
            renewing: false,
        }
    }

    /// How it is announced to an access point.
    pub(super) fn announced(&self) -> Outbox {
        Outbox { id: self.outbox.clone(), last_seq: self.last_seq.saturating_sub(self.base) }
    }

    /// Whether an access point that has kept so many has more than ever was here.
    pub(super) fn is_rolled_back(&self, kept: u64) -> bool {
        kept > self.announced().last_seq
    }

    pub(super) fn is_renewing(&self) -> bool {
        self.renewing
    }

    /// Goes on with another outbox, of which the access point has nothing.
    pub(super) fn begin(&mut self, outbox: OutboxId, base: u64) {
        (self.outbox, self.base, self.through) = (outbox, base, base);
        self.renewing = false;
        self.unsent();
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
        let base = self.reports.base;
        items.iter_mut().for_each(|item| item.seq = item.seq.saturating_sub(base));
        let report = Report { outbox_id: self.reports.outbox.clone(), items };
        self.send(dial, Stream::Reports, report);
    }

    pub(super) fn reported(&mut self, ack: ReportAck) {
        if ack.outbox_id != self.reports.outbox {
            return;
        }
        let ReportAck { through, mut refused, .. } = ack;
        let base = self.reports.base;
        refused.iter_mut().for_each(|refusal| refusal.seq += base);
        let through = through + base;
        self.reports.waiting.retain(|last| *last > through);
        self.forget(through, refused);
    }

    /// An access point says, when it greets, how far it has the outbox.
    pub(super) fn kept_there(&mut self, through: u64) {
        let through = through + self.reports.base;
        // Their acknowledgement was lost, and with it whether one of them was refused.
        let unsure = (self.reports.through + 1..=through.min(self.reports.last_seq)).map(unsure);
        let unsure = unsure.collect();
        self.forget(through, unsure);
        self.reports.unsent();
    }

    /// The outbox was restored from an older state: what it says next would have numbers that the
    /// access point knows, and would be passed over. Another is begun with all that is not reported;
    /// what of it is kept already is known by its key, or refused.
    pub(super) fn begin_outbox(&mut self, now: Moment, dial: u64, kept: u64) {
        let last = self.reports.announced().last_seq;
        self.out.push(Output::Say(Said::OutboxRolledBack { kept, last }));
        self.reports.renewing = true;
        let mut random = [0; 10];
        let numbers = [self.random().to_be_bytes(), self.random().to_be_bytes()].concat();
        random.iter_mut().zip(numbers).for_each(|(byte, random)| *byte = random);
        let outbox = OutboxId::mint(now.wall.unix_ms().unsigned_abs(), random);
        self.out.push(Output::BeginOutbox { outbox });
        self.hang_up(now, dial, "outbox-rolled-back");
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
