//! Pieces: what runs on a TCP connection that carries several streams.

use std::fmt;

use super::super::close::REASON_BYTES_MAX;

/// Bytes before the body of a piece: the stream's number, the kind and the length.
pub const HEADER_BYTES: usize = 7;
/// The longest body of a piece. Short, so that the pieces of one stream do not hold up others.
pub const DATA_BYTES_MAX: usize = 16 * 1024;

macro_rules! kinds {
    ($($number:literal $name:ident $word:literal $least:expr, $most:expr, $place:ident, $doc:literal;)+) => {
        /// What a piece is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum PieceKind {
            $(#[doc = $doc] $name = $number,)+
        }

        impl PieceKind {
            /// Every kind, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// The word of the documentation.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)+
                }
            }

            /// The least and the most bytes that its body has.
            pub fn body_bytes(self) -> (usize, usize) {
                match self {
                    $(Self::$name => ($least, $most),)+
                }
            }

            /// Whether it is of the link as a whole, or of a stream.
            pub fn place(self) -> Place {
                match self {
                    $(Self::$name => Place::$place,)+
                }
            }
        }
    };
}

/// Where a kind of piece belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The link as a whole, which has the number 0.
    Link,
    /// A stream.
    Stream,
}

kinds! {
    1 Terms "terms" 8, 8, Link, "How many streams the other side may open, and the credit of each.";
    2 Open "open" 0, 0, Stream, "A new stream.";
    3 Data "data" 1, DATA_BYTES_MAX, Stream, "Bytes of a stream.";
    4 Finish "finish" 0, 0, Stream, "The sender's half of a stream is complete.";
    5 Reset "reset" 0, 0, Stream, "The sender gives its half of a stream up.";
    6 Stop "stop" 0, 0, Stream, "The sender reads no more of a stream.";
    7 Credit "credit" 4, 4, Stream, "So many more bytes may be sent on a stream.";
    8 Streams "streams" 4, 4, Link, "So many more streams may be opened.";
    9 Ping "ping" 8, 8, Link, "To be answered with the same eight bytes.";
    10 Pong "pong" 8, 8, Link, "The answer.";
    11 Close "close" 0, REASON_BYTES_MAX, Link, "The link is over; nothing follows.";
}

impl fmt::Display for PieceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What stands before the body of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The stream, or 0 for the link.
    pub stream: u32,
    /// What the piece is.
    pub kind: PieceKind,
    /// Bytes of its body.
    pub length: usize,
}

impl Header {
    /// Reads a header. What passes has a length and a place that its kind may have.
    pub fn read(bytes: [u8; HEADER_BYTES]) -> Result<Self, MuxError> {
        let [a, b, c, d, number, high, low] = bytes;
        let stream = u32::from_be_bytes([a, b, c, d]);
        let length = usize::from(u16::from_be_bytes([high, low]));
        let kind = PieceKind::from_number(number).ok_or(MuxError::UnknownKind { kind: number })?;
        let (least, most) = kind.body_bytes();
        if !(least..=most).contains(&length) {
            return Err(MuxError::BadLength { kind, length });
        }
        match (kind.place(), stream) {
            (Place::Link, 0) | (Place::Stream, 1..) => Ok(Self { stream, kind, length }),
            (Place::Link, 1..) | (Place::Stream, 0) => Err(MuxError::BadStream { kind, stream }),
        }
    }

    /// Its bytes.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let [a, b, c, d] = self.stream.to_be_bytes();
        // The length of every kind fits.
        let [high, low] = u16::try_from(self.length).unwrap_or(u16::MAX).to_be_bytes();
        [a, b, c, d, self.kind as u8, high, low]
    }
}

/// Appends a piece.
pub(super) fn put(out: &mut Vec<u8>, stream: u32, kind: PieceKind, body: &[u8]) {
    out.extend_from_slice(&Header { stream, kind, length: body.len() }.to_bytes());
    out.extend_from_slice(body);
}

/// The number that a body of four bytes is, or the first of two in one of eight.
pub(super) fn number(body: &[u8]) -> u32 {
    body.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Why a peer's pieces cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MuxError {
    /// No kind has that number.
    #[error("no kind of piece has the number {kind}")]
    UnknownKind {
        /// The number.
        kind: u8,
    },
    /// A body that the kind cannot have.
    #[error("{kind}: a body of {length} bytes")]
    BadLength {
        /// The kind.
        kind: PieceKind,
        /// Bytes of the body.
        length: usize,
    },
    /// `terms` must come first, and once.
    #[error("{kind} where terms come first, and once")]
    BadStart {
        /// The kind that came.
        kind: PieceKind,
    },
    /// A stream that is not there, or whose half has ended.
    #[error("{kind}: stream {stream} is not one that it may be said of")]
    BadStream {
        /// The kind.
        kind: PieceKind,
        /// The stream.
        stream: u32,
    },
    /// More streams than were allowed.
    #[error("stream {stream} is one more than were allowed")]
    TooManyStreams {
        /// The stream.
        stream: u32,
    },
    /// More bytes than there was credit for, or more credit than can be.
    #[error("{kind}: stream {stream} goes beyond its credit")]
    OverCredit {
        /// The kind.
        kind: PieceKind,
        /// The stream, or 0 for the number of streams.
        stream: u32,
    },
}

impl MuxError {
    /// The word that the link is closed with.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownKind { .. } | Self::BadLength { .. } | Self::BadStart { .. } => {
                "mux-bad-piece"
            }
            Self::BadStream { .. } => "mux-bad-stream",
            Self::TooManyStreams { .. } => "mux-too-many-streams",
            Self::OverCredit { .. } => "mux-over-credit",
        }
    }
}
