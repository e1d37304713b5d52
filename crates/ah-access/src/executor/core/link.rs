//! The connection: dialled, greeted, kept alive, dialled again.

use ah_model::OutboxId;

use super::Agent;
use super::input::{Output, Said, Stream};
use crate::frame::{
    Ack, ConnectionConfig, Frame, Goodbye, GoodbyeReason, Held, Hello, Refused, VERSION,
};
use crate::moment::Moment;

/// How things stand with the access point.
#[derive(Debug)]
pub(super) enum Line {
    /// There is no connection.
    Down { dial_at_ms: u64 },
    /// One is being made.
    Dialling { dial: u64 },
    /// Hello is sent.
    Greeting { dial: u64, until_ms: u64 },
    /// The access point has taken it.
    Up(Up),
}

#[derive(Debug)]
pub(super) struct Up {
    pub(super) dial: u64,
    pub(super) config: ConnectionConfig,
    pub(super) beat_at_ms: u64,
    pub(super) beats: u64,
    /// Heartbeats that are not answered, and when they were sent.
    pub(super) unanswered: std::collections::VecDeque<(u64, u64)>,
    pub(super) heard_ms: u64,
}

impl Line {
    fn dial(&self) -> Option<u64> {
        match self {
            Self::Down { .. } => None,
            Self::Dialling { dial } | Self::Greeting { dial, .. } | Self::Up(Up { dial, .. }) => {
                Some(*dial)
            }
        }
    }

    pub(super) fn due_ms(&self) -> u64 {
        match self {
            Self::Down { dial_at_ms } => *dial_at_ms,
            // Whoever dials says how it ended.
            Self::Dialling { .. } => u64::MAX,
            Self::Greeting { until_ms, .. } => *until_ms,
            Self::Up(up) => up.beat_at_ms.min(up.silent_at_ms()),
        }
    }
}

impl Up {
    fn silent_at_ms(&self) -> u64 {
        self.heard_ms + self.config.heartbeat_ms * self.config.heartbeats_missed_max
    }
}

impl Agent {
    pub(super) fn dial_if_due(&mut self, now: Moment) {
        match &self.line {
            Line::Down { dial_at_ms } if now.is_past(*dial_at_ms) && self.may_dial() => {
                self.dials += 1;
                self.line = Line::Dialling { dial: self.dials };
                self.out.push(Output::Dial { dial: self.dials });
            }
            Line::Greeting { dial, until_ms } if now.is_past(*until_ms) => {
                self.hang_up(now, *dial, "no-ack");
            }
            Line::Up(up) if now.is_past(up.silent_at_ms()) => self.hang_up(now, up.dial, "silent"),
            _ => {}
        }
    }

    fn may_dial(&self) -> bool {
        !self.leaving && !self.reports.is_renewing()
    }

    pub(super) fn hang_up(&mut self, now: Moment, dial: u64, word: &'static str) {
        self.out.push(Output::Close { dial, word });
        self.closed(now, dial, None);
    }

    pub(super) fn dialled(&mut self, now: Moment, dial: u64) {
        if self.line.dial() != Some(dial) {
            return self.out.push(Output::Close { dial, word: "replaced" });
        }
        self.line = Line::Greeting { dial, until_ms: now.ms + self.options.greeting_ms };
        let held = self.runs.iter().filter(|(_, run)| !run.is_lost());
        let held = held.map(|(id, run)| Held { run_id: id.clone(), epoch: run.epoch }).collect();
        let hello = Hello {
            protocol: VERSION,
            executor_id: self.options.executor_id.clone(),
            software: self.options.software.clone(),
            identity_provider: self.options.identity_provider.clone(),
            offer: self.options.offer.clone(),
            machine: self.options.machine.clone(),
            details: self.options.details.clone(),
            capacity: self.options.capacity,
            outbox: self.reports.announced(),
            held,
        };
        self.send(dial, Stream::Control, hello);
    }

    pub(super) fn closed(&mut self, now: Moment, dial: u64, retry_after_ms: Option<u64>) {
        if self.line.dial() != Some(dial) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        let doubled = self.options.retry_ms << self.failures.saturating_sub(1).min(20);
        let longest = doubled.min(self.options.retry_max_ms).max(1);
        // Half of it is certain, half is chance: many that lost the same access point spread out.
        let pause = longest / 2 + self.random() % (longest / 2 + 1);
        let dial_at_ms = now.ms + pause.max(retry_after_ms.unwrap_or(0));
        self.line = Line::Down { dial_at_ms };
        self.reports.unsent();
        self.take_back(dial, None);
    }

    pub(super) fn frame(&mut self, now: Moment, dial: u64, stream: Stream, frame: Frame) {
        if self.line.dial() != Some(dial) {
            return;
        }
        if let Line::Up(up) = &mut self.line {
            up.heard_ms = now.ms;
        }
        match (&self.line, stream, frame) {
            (Line::Greeting { .. }, Stream::Control, Frame::Ack(ack)) => {
                self.taken(now, dial, *ack)
            }
            (_, Stream::Control, Frame::Refused(refused)) => self.refused(now, dial, *refused),
            (_, Stream::Control, Frame::Goodbye(goodbye)) => self.told_to_go(now, dial, *goodbye),
            (Line::Up(_), Stream::Control, Frame::HeartbeatAck(ack)) => {
                self.beat_answered(now, *ack)
            }
            (Line::Up(_), Stream::Reports, Frame::ReportAck(ack)) => self.reported(*ack),
            (Line::Up(_), Stream::Request(_), frame) => self.request(now, dial, frame),
            _ => self.hang_up(now, dial, "frame-misplaced"),
        }
    }

    fn taken(&mut self, now: Moment, dial: u64, ack: Ack) {
        if self.reports.is_rolled_back(ack.reported_seq) {
            return self.begin_outbox(now, dial, ack.reported_seq);
        }
        self.failures = 0;
        let ahead_ms = ack.now.unix_ms().saturating_sub(now.wall.unix_ms());
        let server = ack.server_id;
        self.out.push(Output::Say(Said::Connected { server, ahead_ms }));
        self.line = Line::Up(Up {
            dial,
            config: ack.config,
            beat_at_ms: now.ms,
            beats: 0,
            unanswered: std::collections::VecDeque::new(),
            heard_ms: now.ms,
        });
        self.unname();
        self.lose(&ack.lost);
        self.kept_there(ack.reported_seq);
    }

    fn refused(&mut self, now: Moment, dial: u64, refused: Refused) {
        let Refused { reason, detail, retry_after_ms } = refused;
        self.out.push(Output::Say(Said::Refused { word: reason.as_str(), detail }));
        self.out.push(Output::Close { dial, word: "refused" });
        // Where nothing is said somebody has to change something first, so there is no hurry.
        let pause = retry_after_ms.unwrap_or(self.options.retry_max_ms);
        self.closed(now, dial, Some(pause));
    }

    fn told_to_go(&mut self, now: Moment, dial: u64, goodbye: Goodbye) {
        let Goodbye { reason, detail, retry_after_ms } = goodbye;
        let detail = detail.unwrap_or_default();
        self.out.push(Output::Say(Said::Goodbye { word: reason.as_str(), detail }));
        self.out.push(Output::Close { dial, word: "goodbye" });
        self.closed(now, dial, retry_after_ms);
    }

    /// Another outbox is there: the connection is made again for it.
    pub(super) fn outbox_begun(&mut self, now: Moment, outbox: OutboxId, base: u64) {
        self.reports.begin(outbox, base);
        self.failures = 0;
        self.line = Line::Down { dial_at_ms: now.ms };
    }

    /// The connection is made again with a new identity.
    pub(super) fn rotate(&mut self, now: Moment) {
        let Some(dial) = self.line.dial() else { return };
        let goodbye =
            Goodbye { reason: GoodbyeReason::Rotation, detail: None, retry_after_ms: None };
        self.send(dial, Stream::Control, goodbye);
        self.hang_up(now, dial, "rotation");
        self.failures = 0;
        self.line = Line::Down { dial_at_ms: now.ms };
    }

    /// The executor stops. Its programs go on, and are found again when it comes back.
    pub(super) fn leave(&mut self) {
        self.leaving = true;
        let Some(dial) = self.line.dial() else { return };
        self.take_back(dial, None);
        let goodbye =
            Goodbye { reason: GoodbyeReason::Shutdown, detail: None, retry_after_ms: None };
        self.send(dial, Stream::Control, goodbye);
        self.out.push(Output::Close { dial, word: "shutdown" });
        self.line = Line::Down { dial_at_ms: u64::MAX };
    }

    pub(super) fn send(&mut self, dial: u64, stream: Stream, frame: impl Into<Frame>) {
        self.out.push(Output::Send { dial, stream, frame: frame.into() });
    }
}
