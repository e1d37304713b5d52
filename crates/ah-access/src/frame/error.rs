//! What can be wrong with the bytes of a peer.

use super::{FrameKind, VERSION};

/// Why bytes are no frame that may come here. After one of these the stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The length leaves no room for the version and the kind.
    #[error("a frame of {length} bytes has no version and kind")]
    TooShort {
        /// The announced length.
        length: u32,
    },
    /// The body is longer than its kind may be.
    #[error("{kind}: a body of {length} bytes, at most {max} are allowed")]
    TooLong {
        /// The kind.
        kind: FrameKind,
        /// Bytes of the body, announced or made.
        length: usize,
        /// Bytes it may have.
        max: usize,
    },
    /// Another version of the protocol.
    #[error("version {version} of the frames is not spoken here, only {VERSION}")]
    UnknownVersion {
        /// The version.
        version: u8,
    },
    /// No kind has that number.
    #[error("no kind of frame has the number {kind}")]
    UnknownKind {
        /// The number.
        kind: u8,
    },
    /// The kind does not belong on this stream, from this side.
    #[error("{kind} does not belong here")]
    Misplaced {
        /// The kind.
        kind: FrameKind,
    },
    /// The body is not what its kind must hold.
    #[error("{kind}: {reason}")]
    BadBody {
        /// The kind.
        kind: FrameKind,
        /// What is wrong with it.
        reason: String,
    },
    /// More than one value is in the body, or more than one frame where one must be.
    #[error("{kind}: {count} bytes follow its end")]
    TrailingBytes {
        /// The kind.
        kind: FrameKind,
        /// How many.
        count: usize,
    },
    /// The stream ended inside a frame.
    #[error("the stream ended inside a frame, after {arrived} of its bytes")]
    Truncated {
        /// Bytes of the frame that had arrived.
        arrived: usize,
    },
}

impl FrameError {
    /// A word for the other side, to close with.
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "frame-too-short",
            Self::TooLong { .. } => "frame-too-long",
            Self::UnknownVersion { .. } => "frame-unknown-version",
            Self::UnknownKind { .. } => "frame-unknown-kind",
            Self::Misplaced { .. } => "frame-misplaced",
            Self::BadBody { .. } => "frame-bad-body",
            Self::TrailingBytes { .. } => "frame-trailing-bytes",
            Self::Truncated { .. } => "frame-truncated",
        }
    }
}
