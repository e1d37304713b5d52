//! Bytes to frames, however the bytes are cut.

use serde_json::Deserializer;

use super::encode::{COUNTED_HEADER_BYTES, HEADER_BYTES};
use super::{Body, Frame, FrameError, FrameKind, Lane, VERSION};

/// The most of an error's own words that are kept: it may quote what the peer sent.
const REASON_CHARS_MAX: usize = 200;

/// Reads the frames of a stream, piece by piece.
///
/// It holds at most one unfinished frame, never more than the announced length, and never more than
/// twice what has arrived of it. After an error it answers with the same error for ever.
#[derive(Debug)]
pub struct Decoder {
    lanes: &'static [Lane],
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    body: Option<Unfinished>,
    failed: Option<FrameError>,
}

/// A frame whose header is known and allowed.
#[derive(Debug)]
struct Unfinished {
    kind: FrameKind,
    length: usize,
    bytes: Vec<u8>,
}

impl Decoder {
    /// A decoder of a stream on which only the frames of these lanes may come.
    pub fn new(lanes: &'static [Lane]) -> Self {
        Self { lanes, header: [0; HEADER_BYTES], header_bytes: 0, body: None, failed: None }
    }

    /// Takes bytes off `input` until a frame is whole; none when all were taken before that.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let decoded = self.step(input);
        if let Err(error) = &decoded {
            self.failed = Some(error.clone());
            self.body = None;
        }
        decoded
    }

    /// Refuses a stream that ends inside a frame.
    pub fn finish(&self) -> Result<(), FrameError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match self.header_bytes + self.body.as_ref().map_or(0, |body| body.bytes.len()) {
            0 => Ok(()),
            arrived => Err(FrameError::Truncated { arrived }),
        }
    }

    /// Bytes of memory that it holds for the unfinished frame.
    pub fn held_bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.bytes.capacity())
    }

    /// Length of the body whose header has arrived, until the frame is whole.
    pub fn announced_bytes(&self) -> Option<usize> {
        self.body.as_ref().map(|body| body.length)
    }

    fn step(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if self.body.is_none() && !self.take_header(input)? {
            return Ok(None);
        }
        let Some(body) = &mut self.body else { return Ok(None) };
        body.take(input);
        if body.bytes.len() < body.length {
            return Ok(None);
        }
        let Some(body) = self.body.take() else { return Ok(None) };
        self.header_bytes = 0;
        Frame::from_body(body.kind, &body.bytes).map(Some)
    }

    /// Takes what is missing of the header; whether it is whole, and then allowed.
    fn take_header(&mut self, input: &mut &[u8]) -> Result<bool, FrameError> {
        for place in self.header.iter_mut().skip(self.header_bytes) {
            let Some((byte, rest)) = input.split_first() else { return Ok(false) };
            (*place, *input) = (*byte, rest);
            self.header_bytes += 1;
        }
        let [a, b, c, d, version, number] = self.header;
        let length = u32::from_be_bytes([a, b, c, d]);
        if version != VERSION {
            return Err(FrameError::UnknownVersion { version });
        }
        let kind =
            FrameKind::from_number(number).ok_or(FrameError::UnknownKind { kind: number })?;
        if !kind.lanes().iter().any(|lane| self.lanes.contains(lane)) {
            return Err(FrameError::Misplaced { kind });
        }
        let max = kind.body_bytes_max();
        // A length that does not fit is longer than any kind may be.
        let counted = usize::try_from(length).unwrap_or(usize::MAX);
        match counted.checked_sub(COUNTED_HEADER_BYTES) {
            None => Err(FrameError::TooShort { length }),
            Some(length) if length > max => Err(FrameError::TooLong { kind, length, max }),
            Some(length) => {
                self.body = Some(Unfinished { kind, length, bytes: Vec::new() });
                Ok(true)
            }
        }
    }
}

impl Unfinished {
    fn take(&mut self, input: &mut &[u8]) {
        let missing = self.length - self.bytes.len();
        let (taken, rest) = input.split_at(missing.min(input.len()));
        let needed = self.bytes.len() + taken.len();
        if needed > self.bytes.capacity() {
            // Doubled, so that a frame in small pieces is not copied for each of them.
            let wanted = needed.max(self.bytes.len() * 2).min(self.length);
            self.bytes.reserve_exact(wanted - self.bytes.len());
        }
        self.bytes.extend_from_slice(taken);
        *input = rest;
    }
}

/// The frame that `bytes` are, neither less nor more.
pub fn decode_one(lanes: &'static [Lane], bytes: &[u8]) -> Result<Frame, FrameError> {
    let mut rest = bytes;
    let mut decoder = Decoder::new(lanes);
    match decoder.decode(&mut rest)? {
        None => Err(FrameError::Truncated { arrived: bytes.len() }),
        Some(frame) if rest.is_empty() => Ok(frame),
        Some(frame) => Err(FrameError::TrailingBytes { kind: frame.kind(), count: rest.len() }),
    }
}

/// The checked body of a frame.
pub(super) fn body<B: Body>(bytes: &[u8]) -> Result<B, FrameError> {
    let kind = B::KIND;
    let bad = |error: &dyn std::fmt::Display| {
        let reason = error.to_string().chars().take(REASON_CHARS_MAX).collect();
        FrameError::BadBody { kind, reason }
    };
    let mut values = Deserializer::from_slice(bytes).into_iter::<B>();
    let body = match values.next() {
        Some(Ok(body)) => body,
        Some(Err(error)) => return Err(bad(&error)),
        None => return Err(bad(&"it is empty")),
    };
    let rest = bytes.get(values.byte_offset()..).unwrap_or_default().trim_ascii();
    if !rest.is_empty() {
        return Err(FrameError::TrailingBytes { kind, count: rest.len() });
    }
    body.check().map_err(|error| bad(&error))?;
    Ok(body)
}
