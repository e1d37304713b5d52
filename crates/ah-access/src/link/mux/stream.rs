//! One stream: what has arrived, what goes out, and how much of both may be.

use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};

use super::piece::{DATA_BYTES_MAX, MuxError, PieceKind, put};
use super::{Gone, HalfError};

/// A stream as one side sees it.
#[derive(Debug)]
pub(super) struct Stream {
    number: u32,
    /// Whether the peer has been told of it.
    announced: bool,
    pub(super) queued: bool,
    incoming: Incoming,
    outgoing: Outgoing,
}

#[derive(Debug)]
struct Incoming {
    state: In,
    unread: BytesMut,
    /// What the peer may still send.
    credit: u32,
    /// What was read, and not given back as credit yet.
    taken: u32,
    window: u32,
    /// Whether anybody here may still read.
    is_read: bool,
    stop_due: bool,
    reader: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum In {
    Open,
    Finished,
    Reset,
}

#[derive(Debug)]
struct Outgoing {
    state: Out,
    /// What is left of the bytes that are being sent.
    pending: Bytes,
    credit: u64,
    /// Whether the peer reads no more.
    stopped: bool,
    writer: Option<Waker>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Out {
    Open,
    /// To be finished when all is sent.
    Finishing,
    /// To be reset.
    Resetting,
    /// The peer has been told of the end.
    Ended,
}

impl Stream {
    pub(super) fn new(number: u32, announced: bool, window: u32, credit: u32) -> Self {
        let incoming = Incoming {
            state: In::Open,
            unread: BytesMut::new(),
            credit: window,
            taken: 0,
            window,
            is_read: true,
            stop_due: false,
            reader: None,
        };
        let outgoing = Outgoing {
            state: Out::Open,
            pending: Bytes::new(),
            credit: u64::from(credit),
            stopped: false,
            writer: None,
        };
        Self { number, announced, queued: false, incoming, outgoing }
    }

    /// Whether nothing more can happen on it, on either side.
    pub(super) fn is_over(&self) -> bool {
        let read = !self.incoming.is_read && self.incoming.state != In::Open;
        read && self.outgoing.state == Out::Ended && !self.incoming.stop_due
    }

    pub(super) fn unread_bytes(&self) -> usize {
        self.incoming.unread.len()
    }

    pub(super) fn wake(&mut self) {
        let wakers = [self.incoming.reader.take(), self.outgoing.writer.take()];
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    /// Whether the peer may send this much now.
    pub(super) fn may_receive(&self, kind: PieceKind, length: usize) -> Result<(), MuxError> {
        let (incoming, stream) = (&self.incoming, self.number);
        let is_ended = incoming.state != In::Open;
        match kind {
            PieceKind::Data | PieceKind::Finish | PieceKind::Reset if is_ended => {
                Err(MuxError::BadStream { kind, stream })
            }
            PieceKind::Data if u32::try_from(length).is_ok_and(|n| n > incoming.credit) => {
                Err(MuxError::OverCredit { kind, stream })
            }
            _ => Ok(()),
        }
    }

    /// Bytes for which [`Self::may_receive`] was asked.
    pub(super) fn data(&mut self, bytes: &[u8]) {
        let incoming = &mut self.incoming;
        incoming.credit = incoming.credit.saturating_sub(count(bytes.len()));
        if incoming.is_read {
            incoming.unread.extend_from_slice(bytes);
        }
        self.wake_reader();
    }

    pub(super) fn finished(&mut self) {
        self.incoming.state = In::Finished;
        self.wake_reader();
    }

    /// As QUIC has it: what was not read is lost.
    pub(super) fn was_reset(&mut self) {
        self.incoming.state = In::Reset;
        self.incoming.unread = BytesMut::new();
        self.wake_reader();
    }

    pub(super) fn credit(&mut self, more: u32) -> Result<(), MuxError> {
        let (kind, stream) = (PieceKind::Credit, self.number);
        self.outgoing.credit += u64::from(more);
        match self.outgoing.credit > u64::from(u32::MAX) {
            true => Err(MuxError::OverCredit { kind, stream }),
            false => Ok(()),
        }
    }

    /// The peer reads no more: this half is reset, unless it has ended.
    pub(super) fn was_stopped(&mut self) {
        self.outgoing.stopped = true;
        self.give_up();
        if let Some(writer) = self.outgoing.writer.take() {
            writer.wake();
        }
    }

    pub(super) fn poll_read(&mut self, cx: &Context<'_>) -> Poll<Result<Option<Bytes>, HalfError>> {
        let incoming = &mut self.incoming;
        if !incoming.unread.is_empty() {
            // The whole buffer goes, so that an idle stream holds none.
            let bytes = std::mem::take(&mut incoming.unread).freeze();
            incoming.taken = incoming.taken.saturating_add(count(bytes.len()));
            return Poll::Ready(Ok(Some(bytes)));
        }
        match incoming.state {
            In::Finished => Poll::Ready(Ok(None)),
            In::Reset => Poll::Ready(Err(HalfError::Gone(Gone::Reset))),
            In::Open => {
                incoming.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Takes bytes to send, and is ready when they are all on their way.
    pub(super) fn poll_send(
        &mut self,
        bytes: &mut Bytes,
        cx: &Context<'_>,
    ) -> Poll<Result<(), HalfError>> {
        let outgoing = &mut self.outgoing;
        if outgoing.stopped || outgoing.state != Out::Open {
            return Poll::Ready(Err(HalfError::Gone(Gone::Stopped)));
        }
        if outgoing.pending.is_empty() {
            if bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            outgoing.pending = std::mem::take(bytes);
        }
        outgoing.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn poll_stopped(&mut self, cx: &Context<'_>) -> Poll<()> {
        match self.outgoing.stopped {
            true => Poll::Ready(()),
            false => {
                self.outgoing.writer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether the end of this half was told to the peer.
    pub(super) fn poll_ended(&mut self, cx: &Context<'_>) -> Poll<Result<(), HalfError>> {
        match self.outgoing.state {
            _ if self.outgoing.stopped => Poll::Ready(Err(HalfError::Gone(Gone::Stopped))),
            Out::Ended => Poll::Ready(Ok(())),
            Out::Open | Out::Finishing | Out::Resetting => {
                self.outgoing.writer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    pub(super) fn finish(&mut self) {
        if self.outgoing.state == Out::Open {
            self.outgoing.state = Out::Finishing;
        }
    }

    /// Resets this half, unless the peer knows of its end.
    pub(super) fn give_up(&mut self) {
        self.outgoing.pending = Bytes::new();
        if self.outgoing.state != Out::Ended {
            self.outgoing.state = Out::Resetting;
        }
    }

    /// Nobody here reads any more.
    pub(super) fn stop_reading(&mut self) {
        let incoming = &mut self.incoming;
        (incoming.is_read, incoming.unread, incoming.reader) = (false, BytesMut::new(), None);
        incoming.stop_due = incoming.state == In::Open;
    }

    /// Whether it has anything to say to the peer at present.
    pub(super) fn is_ready(&self) -> bool {
        let outgoing = &self.outgoing;
        let has_data = !outgoing.pending.is_empty() && outgoing.credit > 0;
        let is_ending = match outgoing.state {
            Out::Finishing => outgoing.pending.is_empty(),
            Out::Resetting => true,
            Out::Open | Out::Ended => false,
        };
        !self.announced || self.incoming.stop_due || self.gives_credit() || has_data || is_ending
    }

    /// Credit is given back in halves of the window, not for each byte.
    fn gives_credit(&self) -> bool {
        let incoming = &self.incoming;
        let is_wanted = incoming.state == In::Open && incoming.is_read;
        is_wanted && incoming.taken > 0 && incoming.taken >= incoming.window / 2
    }

    /// Writes the next piece, if there is one.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        if !self.announced {
            self.announced = true;
            put(out, self.number, PieceKind::Open, &[]);
        } else if self.incoming.stop_due {
            self.incoming.stop_due = false;
            put(out, self.number, PieceKind::Stop, &[]);
        } else if self.gives_credit() {
            let more = std::mem::take(&mut self.incoming.taken);
            self.incoming.credit = self.incoming.credit.saturating_add(more);
            put(out, self.number, PieceKind::Credit, &more.to_be_bytes());
        } else {
            self.write_outgoing(out);
        }
    }

    fn write_outgoing(&mut self, out: &mut Vec<u8>) {
        let outgoing = &mut self.outgoing;
        let room = usize::try_from(outgoing.credit).unwrap_or(usize::MAX).min(DATA_BYTES_MAX);
        let length = outgoing.pending.len().min(room);
        if length > 0 {
            let bytes = outgoing.pending.split_to(length);
            outgoing.credit = outgoing.credit.saturating_sub(u64::from(count(length)));
            put(out, self.number, PieceKind::Data, &bytes);
        } else if let Some(kind) = outgoing.end() {
            outgoing.state = Out::Ended;
            put(out, self.number, kind, &[]);
        }
        let is_done = outgoing.pending.is_empty();
        if let Some(writer) = outgoing.writer.take_if(|_| is_done) {
            writer.wake();
        }
    }

    fn wake_reader(&mut self) {
        if let Some(reader) = self.incoming.reader.take() {
            reader.wake();
        }
    }
}

impl Outgoing {
    /// How this half ends now, if it does.
    fn end(&self) -> Option<PieceKind> {
        match self.state {
            Out::Finishing if self.pending.is_empty() => Some(PieceKind::Finish),
            Out::Resetting => Some(PieceKind::Reset),
            Out::Open | Out::Finishing | Out::Ended => None,
        }
    }
}

/// A length of a window or a piece, which fits.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
