//! Several streams on one connection of TCP, as bytes; nothing here reads or writes.
//!
//! `docs/protocol.md` describes the pieces ("Over TCP").
//!
//! Invariants: of each stream no more is held than its window, and there are never more streams of
//! the peer than it was allowed; what is to be said to a peer that does not read is kept once for
//! each stream, however often it changes; every stream that has something to say has its turn.

mod piece;
mod stream;
#[cfg(test)]
mod tests;

pub use piece::{DATA_BYTES_MAX, HEADER_BYTES, Header, MuxError, PieceKind, Place};

use std::collections::{HashMap, VecDeque};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::close::{Closed, Reason};
use piece::{number, put};
use stream::Stream;

/// What is written at a time, about.
const BATCH_BYTES: usize = 2 * DATA_BYTES_MAX;

/// Which side a mux is: streams of whoever dialled have odd numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It dialled.
    Dialled,
    /// It was dialled.
    Accepted,
}

/// What ended a half of a stream, other than its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gone {
    /// The peer gave its half up.
    Reset,
    /// The peer reads no more.
    Stopped,
}

/// Why a half of a stream cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HalfError {
    Gone(Gone),
    Closed(Closed),
}

/// All streams of one connection.
#[derive(Debug)]
pub struct Mux {
    window: u32,
    streams: HashMap<u32, Stream>,
    /// Streams with something to say, in turn.
    ready: VecDeque<u32>,
    opening: Opening,
    opened: Opened,
    link: LinkState,
    writer: Option<Waker>,
    /// Whether something happened for which others than the halves of streams wait.
    stirred: bool,
    closed: Option<Closed>,
}

/// Streams that this side opens.
#[derive(Debug)]
struct Opening {
    next: u32,
    /// How many more the peer allows.
    allowed: u32,
    /// The credit that each begins with; none before the peer's terms.
    credit: Option<u32>,
}

/// Streams that the peer opens.
#[derive(Debug)]
struct Opened {
    next: u32,
    /// How many more it may open.
    allowed: u32,
    /// Those that nobody has accepted yet.
    fresh: VecDeque<u32>,
}

/// What is to be said of the link as a whole; each at most once.
#[derive(Debug)]
struct LinkState {
    terms_due: Option<[u32; 2]>,
    streams_due: u32,
    ping_due: Option<u64>,
    pong_due: Option<[u8; 8]>,
    close_due: Option<Reason>,
    last_pong: Option<u64>,
}

impl Mux {
    /// Lets the peer open so many streams at a time, with so many bytes unread on each.
    pub fn new(side: Side, streams_max: u32, window: u32) -> Self {
        let (ours, theirs) = match side {
            Side::Dialled => (1, 2),
            Side::Accepted => (2, 1),
        };
        Self {
            window,
            streams: HashMap::new(),
            ready: VecDeque::new(),
            opening: Opening { next: ours, allowed: 0, credit: None },
            opened: Opened { next: theirs, allowed: streams_max, fresh: VecDeque::new() },
            link: LinkState {
                terms_due: Some([streams_max, window]),
                streams_due: 0,
                ping_due: None,
                pong_due: None,
                close_due: None,
                last_pong: None,
            },
            writer: None,
            stirred: false,
            closed: None,
        }
    }

    /// Whether such a piece may come now; asked before its body is read.
    pub fn check(&self, header: Header) -> Result<(), MuxError> {
        let Header { stream, kind, length } = header;
        if (kind == PieceKind::Terms) != self.opening.credit.is_none() {
            return Err(MuxError::BadStart { kind });
        }
        match (kind, self.streams.get(&stream)) {
            // After the last number there is none to go on with.
            (PieceKind::Open, _) if stream != self.opened.next || stream > u32::MAX - 2 => {
                Err(MuxError::BadStream { kind, stream })
            }
            (PieceKind::Open, _) if self.opened.allowed == 0 => {
                Err(MuxError::TooManyStreams { stream })
            }
            (PieceKind::Data | PieceKind::Finish | PieceKind::Reset, None) => {
                Err(MuxError::BadStream { kind, stream })
            }
            // The other half may have ended while these were on their way.
            (PieceKind::Stop | PieceKind::Credit, None) if !self.was_opened(stream) => {
                Err(MuxError::BadStream { kind, stream })
            }
            (kind, Some(known)) => known.may_receive(kind, length),
            (_, None) => Ok(()),
        }
    }

    /// Takes a piece that passed [`Self::check`], with its body.
    pub fn receive(&mut self, header: Header, body: &[u8]) -> Result<(), MuxError> {
        let Header { stream, kind, .. } = header;
        match kind {
            PieceKind::Terms => self.take_terms(body),
            PieceKind::Open => self.take_open(stream),
            PieceKind::Streams => self.take_streams(number(body))?,
            PieceKind::Ping => self.link.pong_due = body.try_into().ok(),
            PieceKind::Pong => {
                self.link.last_pong = body.try_into().ok().map(u64::from_be_bytes);
            }
            PieceKind::Close => self.close(Closed::There(Reason::from_peer(body))),
            PieceKind::Data
            | PieceKind::Finish
            | PieceKind::Reset
            | PieceKind::Stop
            | PieceKind::Credit => self.take_of_stream(header, body)?,
        }
        self.wake_writer();
        Ok(())
    }

    fn take_terms(&mut self, body: &[u8]) {
        self.opening.allowed = number(body);
        self.opening.credit = Some(number(body.get(4..).unwrap_or_default()));
        self.stirred = true;
    }

    fn take_open(&mut self, stream: u32) {
        self.opened.allowed = self.opened.allowed.saturating_sub(1);
        self.opened.next = stream.saturating_add(2);
        let credit = self.opening.credit.unwrap_or(0);
        self.streams.insert(stream, Stream::new(stream, true, self.window, credit));
        self.opened.fresh.push_back(stream);
        self.stirred = true;
    }

    fn take_streams(&mut self, more: u32) -> Result<(), MuxError> {
        let allowed = self.opening.allowed.checked_add(more);
        let too_many = MuxError::OverCredit { kind: PieceKind::Streams, stream: 0 };
        self.opening.allowed = allowed.ok_or(too_many)?;
        self.stirred = true;
        Ok(())
    }

    fn take_of_stream(&mut self, header: Header, body: &[u8]) -> Result<(), MuxError> {
        let Some(known) = self.streams.get_mut(&header.stream) else { return Ok(()) };
        match header.kind {
            PieceKind::Data => known.data(body),
            PieceKind::Finish => known.finished(),
            PieceKind::Reset => known.was_reset(),
            PieceKind::Stop => known.was_stopped(),
            _ => known.credit(number(body))?,
        }
        self.settle(header.stream);
        Ok(())
    }

    /// Whether a stream of that number was ever opened, by either side.
    fn was_opened(&self, stream: u32) -> bool {
        let next = match stream % 2 == self.opening.next % 2 {
            true => self.opening.next,
            false => self.opened.next,
        };
        stream < next
    }

    /// Puts a stream in its place: among those with something to say, or away when it is over.
    fn settle(&mut self, stream: u32) {
        let Some(known) = self.streams.get_mut(&stream) else { return };
        if known.is_over() {
            self.streams.remove(&stream);
            if stream % 2 == self.opened.next % 2 {
                self.opened.allowed = self.opened.allowed.saturating_add(1);
                self.link.streams_due = self.link.streams_due.saturating_add(1);
                self.wake_writer();
            }
        } else if known.is_ready() && !known.queued {
            known.queued = true;
            self.ready.push_back(stream);
            self.wake_writer();
        }
    }

    /// Writes what is to be said, about as much as goes out at a time; nothing when there is nothing.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        self.write_link(out);
        while out.len() < BATCH_BYTES && self.link.close_due.is_none() && self.closed.is_none() {
            let Some(stream) = self.ready.pop_front() else { return };
            let Some(known) = self.streams.get_mut(&stream) else { continue };
            known.queued = false;
            known.write(out);
            self.settle(stream);
        }
    }

    fn write_link(&mut self, out: &mut Vec<u8>) {
        let link = &mut self.link;
        if let Some([streams, window]) = link.terms_due.take() {
            let body = [streams.to_be_bytes(), window.to_be_bytes()].concat();
            put(out, 0, PieceKind::Terms, &body);
        }
        if link.streams_due > 0 {
            let more = std::mem::take(&mut link.streams_due);
            put(out, 0, PieceKind::Streams, &more.to_be_bytes());
        }
        if let Some(ping) = link.ping_due.take() {
            put(out, 0, PieceKind::Ping, &ping.to_be_bytes());
        }
        if let Some(pong) = link.pong_due.take() {
            put(out, 0, PieceKind::Pong, &pong);
        }
        if let Some(reason) = link.close_due.take() {
            put(out, 0, PieceKind::Close, reason.to_string().as_bytes());
        }
    }

    /// Bytes that have arrived and were not read.
    pub fn unread_bytes(&self) -> usize {
        self.streams.values().map(Stream::unread_bytes).sum()
    }

    /// Streams that are not over.
    pub fn stream_count(&self) -> usize {
        self.streams.len()
    }

    /// Why the link is over, if it is.
    pub fn closed(&self) -> Option<&Closed> {
        self.closed.as_ref()
    }

    /// Ends everything; the first reason counts.
    pub(super) fn close(&mut self, why: Closed) {
        if self.closed.is_some() {
            return;
        }
        if let Closed::Here(reason) = &why {
            self.link.close_due = Some(reason.clone());
        }
        self.closed = Some(why);
        self.streams.values_mut().for_each(Stream::wake);
        self.stirred = true;
        self.wake_writer();
    }

    /// Asks the peer for a sign of life.
    pub(super) fn ping(&mut self, token: u64) {
        self.link.ping_due = Some(token);
    }

    /// The last answer to a ping, once.
    pub(super) fn take_pong(&mut self) -> Option<u64> {
        self.link.last_pong.take()
    }

    /// Whether something happened since the last question for which others than the halves of
    /// streams wait: the peer's terms, a stream, more room for streams, or the end.
    pub(super) fn take_stirred(&mut self) -> bool {
        std::mem::take(&mut self.stirred)
    }

    /// Ready when there is something to write.
    pub(super) fn poll_write(&mut self, out: &mut Vec<u8>, cx: &Context<'_>) -> Poll<()> {
        self.write(out);
        match out.is_empty() {
            false => Poll::Ready(()),
            true => {
                self.writer = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Opens a stream, unless the peer allows none at present.
    pub(super) fn open(&mut self) -> Option<Result<u32, Closed>> {
        if let Some(closed) = &self.closed {
            return Some(Err(closed.clone()));
        }
        let (Some(credit), 1..) = (self.opening.credit, self.opening.allowed) else { return None };
        let stream = self.opening.next;
        let Some(next) = stream.checked_add(2) else {
            return Some(Err(Closed::broken("its numbers of streams are used up")));
        };
        (self.opening.next, self.opening.allowed) = (next, self.opening.allowed - 1);
        self.streams.insert(stream, Stream::new(stream, false, self.window, credit));
        self.settle(stream);
        Some(Ok(stream))
    }

    /// The next stream that the peer opened, if there is one.
    pub(super) fn accept(&mut self) -> Option<Result<u32, Closed>> {
        match (self.opened.fresh.pop_front(), &self.closed) {
            (Some(stream), _) => Some(Ok(stream)),
            (None, Some(closed)) => Some(Err(closed.clone())),
            (None, None) => None,
        }
    }

    pub(super) fn poll_read(
        &mut self,
        stream: u32,
        cx: &Context<'_>,
    ) -> Poll<Result<Option<Bytes>, HalfError>> {
        // What has arrived is read, also when the link is over.
        let read = self.of(stream).map(|known| known.poll_read(cx));
        self.settle(stream);
        self.unless_closed(read)
    }

    pub(super) fn poll_send(
        &mut self,
        stream: u32,
        bytes: &mut Bytes,
        cx: &Context<'_>,
    ) -> Poll<Result<(), HalfError>> {
        if let Some(closed) = &self.closed {
            return Poll::Ready(Err(HalfError::Closed(closed.clone())));
        }
        let sent = self.of(stream).map(|known| known.poll_send(bytes, cx));
        self.settle(stream);
        self.unless_closed(sent)
    }

    pub(super) fn poll_stopped(&mut self, stream: u32, cx: &Context<'_>) -> Poll<()> {
        match (&self.closed, self.streams.get_mut(&stream)) {
            (None, Some(known)) => known.poll_stopped(cx),
            (Some(_), _) | (None, None) => Poll::Ready(()),
        }
    }

    /// Ready when the end of this side's half was told to the peer.
    pub(super) fn poll_ended(
        &mut self,
        stream: u32,
        cx: &Context<'_>,
    ) -> Poll<Result<(), HalfError>> {
        let ended = self.of(stream).map(|known| known.poll_ended(cx));
        self.unless_closed(ended)
    }

    pub(super) fn finish(&mut self, stream: u32) {
        self.change(stream, Stream::finish);
    }

    pub(super) fn give_up(&mut self, stream: u32) {
        self.change(stream, Stream::give_up);
    }

    pub(super) fn stop_reading(&mut self, stream: u32) {
        self.change(stream, Stream::stop_reading);
    }

    fn change(&mut self, stream: u32, change: fn(&mut Stream)) {
        if let Some(known) = self.streams.get_mut(&stream) {
            change(known);
            self.settle(stream);
        }
    }

    fn of(&mut self, stream: u32) -> Result<&mut Stream, HalfError> {
        self.streams.get_mut(&stream).ok_or(HalfError::Gone(Gone::Reset))
    }

    /// What a half answers, or that the link is over when it would wait.
    fn unless_closed<T>(
        &self,
        answer: Result<Poll<Result<T, HalfError>>, HalfError>,
    ) -> Poll<Result<T, HalfError>> {
        match (answer, &self.closed) {
            (Ok(Poll::Ready(ready)), _) => Poll::Ready(ready),
            (Ok(Poll::Pending), None) => Poll::Pending,
            (Ok(Poll::Pending), Some(closed)) => {
                Poll::Ready(Err(HalfError::Closed(closed.clone())))
            }
            (Err(gone), _) => Poll::Ready(Err(gone)),
        }
    }

    fn wake_writer(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
    }
}
