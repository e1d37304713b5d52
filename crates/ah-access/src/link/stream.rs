//! The two halves of a stream: frames out, frames in.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use quinn::{ReadError, RecvStream, SendStream, StoppedError, WriteError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::mux::{Gone, HalfError};
use super::tcp::Wire;
use super::{Closed, Link, quic, word};
use crate::frame::{Decoder, Frame, FrameError, Lane};

/// The most that is taken off a stream at a time.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// Why nothing more can be sent on a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The frame itself is not allowed; nothing was sent, and the stream can be used on.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The peer reads no more of this stream.
    #[error("the peer reads no more of this stream")]
    Stopped,
    /// An earlier frame was given up when it was half sent, so nothing can follow it.
    #[error("an earlier frame was given up in the middle")]
    Interrupted,
    /// The link is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// Why nothing more can be read from a stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// What came is no frame that may come here. Whoever reads closes the link.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A frame was begun and did not end in time. Whoever reads closes the link.
    #[error("a frame took longer than {} s", .within.as_secs_f32())]
    Slow {
        /// The time that it had.
        within: Duration,
    },
    /// The peer gave its half of the stream up.
    #[error("the peer gave the stream up")]
    Reset,
    /// The link is over.
    #[error(transparent)]
    Closed(#[from] Closed),
}

impl ReceiveError {
    /// The word to close the link with, when it is the peer's fault.
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Self::Frame(error) => Some(error.code()),
            Self::Slow { .. } => Some(word::SLOW_FRAME),
            Self::Reset | Self::Closed(_) => None,
        }
    }
}

/// The half of a stream that sends. Dropped before [`Sender::finish`], it is reset.
#[derive(Debug)]
pub struct Sender {
    link: Link,
    half: SendHalf,
    state: Sending,
    _place: Option<Place>,
}

#[derive(Debug)]
enum SendHalf {
    Quic(SendStream),
    Tcp(Arc<Wire>, u32),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sending {
    Whole,
    /// A frame is being written; found like this later, it was given up.
    InFrame,
    Finished,
}

/// The half of a stream that receives. Dropped before its end, the peer is told to send no more.
#[derive(Debug)]
pub struct Receiver {
    link: Link,
    half: ReceiveHalf,
    decoder: Decoder,
    /// What has arrived and was not decoded yet.
    rest: Bytes,
    /// When the unfinished frame must be whole.
    deadline: Option<Instant>,
    reserved: Option<Reserved>,
    over: Option<Result<(), ReceiveError>>,
    _place: Option<Place>,
}

/// A place among the streams that this side has opened; both halves hold it.
type Place = Arc<OwnedSemaphorePermit>;

#[derive(Debug)]
enum ReceiveHalf {
    Quic(RecvStream),
    Tcp(Arc<Wire>, u32),
}

/// Bytes of the link's budget for unfinished frames; given back when dropped.
#[derive(Debug)]
struct Reserved {
    link: Link,
    bytes: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.link.0.budget.add_permits(self.bytes);
    }
}

pub(super) fn quic(
    link: &Link,
    send: SendStream,
    receive: RecvStream,
    lanes: &'static [Lane],
    place: Option<Place>,
) -> (Sender, Receiver) {
    halves(link, SendHalf::Quic(send), ReceiveHalf::Quic(receive), lanes, place)
}

pub(super) fn tcp(
    link: &Link,
    wire: &Arc<Wire>,
    number: u32,
    lanes: &'static [Lane],
    place: Option<Place>,
) -> (Sender, Receiver) {
    let send = SendHalf::Tcp(Arc::clone(wire), number);
    halves(link, send, ReceiveHalf::Tcp(Arc::clone(wire), number), lanes, place)
}

fn halves(
    link: &Link,
    send: SendHalf,
    receive: ReceiveHalf,
    lanes: &'static [Lane],
    place: Option<Place>,
) -> (Sender, Receiver) {
    let sender =
        Sender { link: link.clone(), half: send, state: Sending::Whole, _place: place.clone() };
    let receiver = Receiver {
        link: link.clone(),
        half: receive,
        decoder: Decoder::new(lanes),
        rest: Bytes::new(),
        deadline: None,
        reserved: None,
        over: None,
        _place: place,
    };
    (sender, receiver)
}

impl Sender {
    /// Sends a frame: it is on its way when this returns, which waits for a peer that is slow.
    /// Given up in the middle, the stream cannot be used any more.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), SendError> {
        let bytes = Bytes::from(frame.encode()?);
        if self.state == Sending::InFrame {
            return Err(SendError::Interrupted);
        }
        self.state = Sending::InFrame;
        match &mut self.half {
            SendHalf::Quic(stream) => {
                let sent = stream.write_chunk(bytes).await;
                sent.map_err(|error| of_write(&self.link, error))?;
            }
            SendHalf::Tcp(wire, number) => wire.send(*number, bytes).await?,
        }
        self.state = Sending::Whole;
        Ok(())
    }

    /// Says that nothing more follows.
    pub fn finish(mut self) -> Result<(), SendError> {
        self.finish_half()
    }

    fn finish_half(&mut self) -> Result<(), SendError> {
        if self.state == Sending::InFrame {
            return Err(SendError::Interrupted);
        }
        self.state = Sending::Finished;
        match &mut self.half {
            SendHalf::Quic(stream) => stream.finish().map_err(|_| SendError::Stopped),
            SendHalf::Tcp(wire, number) => {
                wire.finish(*number);
                Ok(())
            }
        }
    }

    /// Finishes, and waits until all that was sent has left for good: over QUIC the peer has it,
    /// over TCP it goes before anything that is said later. A link that is closed before that may
    /// take it back.
    pub async fn deliver(mut self) -> Result<(), SendError> {
        self.finish_half()?;
        match &self.half {
            SendHalf::Quic(stream) => match stream.stopped().await {
                Ok(None) => Ok(()),
                Ok(Some(_)) | Err(StoppedError::ZeroRttRejected) => Err(SendError::Stopped),
                Err(StoppedError::ConnectionLost(error)) => {
                    Err(SendError::Closed(self.link.quic_closed(&error)))
                }
            },
            SendHalf::Tcp(wire, number) => match wire.ended(*number).await {
                // It is forgotten when nothing more can happen on it.
                Ok(()) | Err(HalfError::Gone(Gone::Reset)) => Ok(()),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Gives the stream up: what the peer has not read yet may never reach it.
    pub fn reset(self) {}

    /// Waits until the peer reads no more of this stream, or the link is over.
    pub async fn stopped(&self) {
        match &self.half {
            SendHalf::Quic(stream) => drop(stream.stopped().await),
            SendHalf::Tcp(wire, number) => wire.stopped(*number).await,
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        if self.state == Sending::Finished {
            return;
        }
        match &mut self.half {
            // An error means that the stream is over already.
            SendHalf::Quic(stream) => drop(stream.reset(quic::ERROR_CODE)),
            SendHalf::Tcp(wire, number) => wire.give_up(*number),
        }
    }
}

fn of_write(link: &Link, error: WriteError) -> SendError {
    match error {
        WriteError::Stopped(_) | WriteError::ClosedStream | WriteError::ZeroRttRejected => {
            SendError::Stopped
        }
        WriteError::ConnectionLost(error) => SendError::Closed(link.quic_closed(&error)),
    }
}

impl Receiver {
    /// The next frame; none when the peer has finished its half. May be given up and called again.
    /// After an error, or the end, it answers the same for ever.
    pub async fn next(&mut self) -> Result<Option<Frame>, ReceiveError> {
        if let Some(over) = &self.over {
            return over.clone().map(|()| None);
        }
        let next = match self.deadline {
            None => self.step().await,
            Some(deadline) => self.step_until(deadline).await,
        };
        match &next {
            Ok(Some(_)) => self.link.0.first.note(),
            Ok(None) => self.end(Ok(())),
            Err(error) => self.end(Err(error.clone())),
        }
        next
    }

    fn end(&mut self, how: Result<(), ReceiveError>) {
        (self.over, self.reserved, self.rest) = (Some(how), None, Bytes::new());
    }

    /// Reads until a frame has begun, then until it is whole or too late.
    async fn step(&mut self) -> Result<Option<Frame>, ReceiveError> {
        if self.rest.is_empty() && !self.read().await? {
            self.decoder.finish()?;
            return Ok(None);
        }
        let deadline = Instant::now() + self.link.0.frame_within;
        self.deadline = Some(deadline);
        self.step_until(deadline).await
    }

    async fn step_until(&mut self, deadline: Instant) -> Result<Option<Frame>, ReceiveError> {
        let within = self.link.0.frame_within;
        let whole = timeout_at(deadline, self.whole_frame()).await;
        let frame = whole.map_err(|_| ReceiveError::Slow { within })??;
        self.deadline = None;
        Ok(frame)
    }

    /// The frame that has begun.
    async fn whole_frame(&mut self) -> Result<Option<Frame>, ReceiveError> {
        loop {
            if let Some(frame) = self.decode().await? {
                return Ok(Some(frame));
            }
            if !self.read().await? {
                self.decoder.finish()?;
                return Ok(None);
            }
        }
    }

    /// Decodes what is there, the body of a frame only when there is room for all of it.
    async fn decode(&mut self) -> Result<Option<Frame>, ReceiveError> {
        while !self.rest.is_empty() {
            let count = match self.decoder.announced_bytes() {
                None => 1,
                Some(announced) => {
                    self.reserve(announced).await?;
                    self.rest.len()
                }
            };
            let given = self.rest.get(..count).unwrap_or_default();
            let mut input = given;
            let decoded = self.decoder.decode(&mut input);
            let taken = given.len() - input.len();
            self.rest.advance(taken);
            if let Some(frame) = decoded? {
                self.reserved = None;
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    async fn reserve(&mut self, bytes: usize) -> Result<(), ReceiveError> {
        if self.reserved.is_some() {
            return Ok(());
        }
        let over = |_| Closed::broken("no frame can be read any more");
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX);
        let permit = self.link.0.budget.acquire_many(wanted).await.map_err(over)?;
        permit.forget();
        self.reserved = Some(Reserved { link: self.link.clone(), bytes });
        Ok(())
    }

    /// Waits for bytes; false at the end of the stream.
    async fn read(&mut self) -> Result<bool, ReceiveError> {
        match &mut self.half {
            ReceiveHalf::Quic(stream) => {
                let read = stream.read_chunk(CHUNK_BYTES_MAX, true).await;
                let chunk = read.map_err(|error| of_read(&self.link, error))?;
                let Some(chunk) = chunk else { return Ok(false) };
                self.rest = chunk.bytes;
                Ok(true)
            }
            ReceiveHalf::Tcp(wire, number) => {
                let Some(bytes) = wire.read(*number).await? else { return Ok(false) };
                self.rest = bytes;
                Ok(true)
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        match &self.half {
            // It tells the peer by itself.
            ReceiveHalf::Quic(_) => {}
            ReceiveHalf::Tcp(wire, number) => wire.stop_reading(*number),
        }
    }
}

impl From<HalfError> for SendError {
    fn from(error: HalfError) -> Self {
        match error {
            HalfError::Gone(Gone::Reset | Gone::Stopped) => Self::Stopped,
            HalfError::Closed(closed) => Self::Closed(closed),
        }
    }
}

impl From<HalfError> for ReceiveError {
    fn from(error: HalfError) -> Self {
        match error {
            HalfError::Gone(Gone::Reset | Gone::Stopped) => Self::Reset,
            HalfError::Closed(closed) => Self::Closed(closed),
        }
    }
}

fn of_read(link: &Link, error: ReadError) -> ReceiveError {
    match error {
        ReadError::Reset(_)
        | ReadError::ClosedStream
        | ReadError::IllegalOrderedRead
        | ReadError::ZeroRttRejected => ReceiveError::Reset,
        ReadError::ConnectionLost(error) => ReceiveError::Closed(link.quic_closed(&error)),
    }
}
