//! One connection: how far it is, and how it ends.

use ah_model::{ExecutorId, OutboxId, RawJson};

use super::input::{ConnectionId, Output, Stream};
use super::{Point, Presence};
use crate::frame::{Frame, Goodbye, GoodbyeReason, Held, Refused, RefusedReason};
use crate::moment::Moment;

/// A connection whose peer has shown who it is.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) peer: ExecutorId,
    pub(super) identity: RawJson,
    pub(super) stage: Stage,
}

/// How far a connection is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its Hello has not come.
    Greeting { until_ms: u64 },
    /// The store writes down who it is.
    Admitting(Greeted),
    /// It counts.
    Up(Box<Presence>),
}

/// What is needed of a Hello once the store has answered.
#[derive(Debug)]
pub(super) struct Greeted {
    pub(super) protocol: u8,
    pub(super) outbox: OutboxId,
    pub(super) held: Vec<Held>,
}

impl Connection {
    pub(super) fn greeting(peer: ExecutorId, identity: RawJson, until_ms: u64) -> Self {
        Self { peer, identity, stage: Stage::Greeting { until_ms } }
    }
}

impl Point {
    pub(super) fn presence(&self, id: ConnectionId) -> Option<&Presence> {
        match &self.connections.get(&id)?.stage {
            Stage::Up(presence) => Some(presence),
            Stage::Greeting { .. } | Stage::Admitting(_) => None,
        }
    }

    pub(super) fn presence_mut(&mut self, id: ConnectionId) -> Option<&mut Presence> {
        match &mut self.connections.get_mut(&id)?.stage {
            Stage::Up(presence) => Some(presence),
            Stage::Greeting { .. } | Stage::Admitting(_) => None,
        }
    }

    pub(super) fn frame(&mut self, now: Moment, id: ConnectionId, stream: Stream, frame: Frame) {
        let Some(connection) = self.connections.get(&id) else { return };
        match (&connection.stage, stream, frame) {
            (Stage::Greeting { .. }, Stream::Control, Frame::Hello(hello)) => {
                self.hello(id, *hello)
            }
            (Stage::Up(_), Stream::Control, Frame::Heartbeat(beat)) => {
                self.heartbeat(now, id, *beat)
            }
            (_, Stream::Control, Frame::Goodbye(_)) => self.close(id, "goodbye"),
            (Stage::Up(_), Stream::Reports, Frame::Report(report)) => self.report(now, id, *report),
            (Stage::Up(_), Stream::Request(request), Frame::Reply(reply)) => {
                self.replied(now, id, &request, *reply);
            }
            (Stage::Up(_), Stream::Request(request), Frame::Progress(progress)) => {
                self.progressed(id, &request, *progress);
            }
            (_, _, frame) => {
                let detail = format!("{} does not belong here", frame.kind());
                self.break_off(id, "frame-misplaced", &detail);
            }
        }
    }

    pub(super) fn send(
        &mut self,
        connection: ConnectionId,
        stream: Stream,
        frame: impl Into<Frame>,
    ) {
        self.out.push(Output::Send { connection, stream, frame: frame.into() });
    }

    /// The peer broke the protocol.
    pub(super) fn break_off(&mut self, id: ConnectionId, word: &'static str, detail: &str) {
        self.counts.broken += 1;
        let detail = Some(detail.to_owned());
        let goodbye = Goodbye { reason: GoodbyeReason::Protocol, detail, retry_after_ms: None };
        self.send(id, Stream::Control, goodbye);
        self.close(id, word);
    }

    pub(super) fn say_goodbye(&mut self, id: ConnectionId, reason: GoodbyeReason, detail: &str) {
        let goodbye = Goodbye { reason, detail: Some(detail.to_owned()), retry_after_ms: None };
        self.send(id, Stream::Control, goodbye);
        self.close(id, reason.as_str());
    }

    /// The peer is not taken; it is told why.
    pub(super) fn refuse(
        &mut self,
        id: ConnectionId,
        reason: RefusedReason,
        detail: String,
        retry_after_ms: Option<u64>,
    ) {
        self.counts.refused += 1;
        self.send(id, Stream::Control, Refused { reason, detail, retry_after_ms });
        self.close(id, reason.as_str());
    }

    pub(super) fn close(&mut self, connection: ConnectionId, word: &'static str) {
        self.forget(connection);
        self.out.push(Output::Close { connection, word });
    }

    /// Nothing that comes from a connection counts any more.
    pub(super) fn forget(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        if self.present.get(&connection.peer) == Some(&id) {
            self.present.remove(&connection.peer);
        }
        if let Stage::Up(mut presence) = connection.stage {
            self.answer_gone(&mut presence);
        }
    }
}
