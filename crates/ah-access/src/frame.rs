//! Frames: what an access point and an executor say to each other, as bytes.
//!
//! A frame is a length (u32, big endian, of what follows it), a version, a kind and a body of JSON.
//! Nothing here reads or writes: bytes go in and frames come out, and the other way round.
//! `docs/protocol.md` describes every frame; a test compares it with this code.
//!
//! Invariants: what a decoder holds never exceeds the length that its kind may have, and grows only
//! as bytes arrive; a frame that was decoded has passed its checks; unknown fields are ignored, so
//! that a newer peer may say more.

mod bounded;
mod control;
mod decode;
mod encode;
mod error;
mod kind;
mod report;
mod request;
mod word;

pub use ah_model::{Ended, Happened, Load, ReportItem, ReportRefusal, ReportRefusalReason};
pub use control::{
    Ack, ConnectionConfig, Goodbye, GoodbyeReason, Heartbeat, HeartbeatAck, Held, HeldRun,
    HeldState, Hello, Outbox, Refused, RefusedReason,
};
pub use decode::{Decoder, decode_one};
pub use encode::encode;
pub use error::FrameError;
pub use kind::{FrameKind, Lane};
pub use report::{Report, ReportAck};
pub use request::{
    Cancel, Dispatch, Fence, FenceStep, Launch, Pause, PauseMode, Progress, Reply, ReplyCode,
    RequestHead, Resume, Stop,
};

use ah_model::Invalid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the protocol that this code speaks.
pub const VERSION: u8 = 1;
/// What a peer asks for when a connection is made: the protocol and its version.
pub const ALPN: &[u8] = b"ah-exec/1";

/// What a body of one kind of frame must be.
pub trait Body: Serialize + DeserializeOwned {
    /// The kind of frame that carries it.
    const KIND: FrameKind;

    /// Refuses texts and numbers that are out of bounds.
    fn check(&self) -> Result<(), Invalid>;
}

macro_rules! frames {
    ($($name:ident),+ $(,)?) => {
        /// One frame, decoded and checked.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Frame {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name(Box<$name>),
            )+
        }

        impl Frame {
            /// Its kind.
            pub fn kind(&self) -> FrameKind {
                match self {
                    $(Self::$name(_) => <$name as Body>::KIND,)+
                }
            }

            /// Its bytes, as [`encode`] makes them of the body.
            pub fn encode(&self) -> Result<Vec<u8>, FrameError> {
                match self {
                    $(Self::$name(body) => encode(&**body),)+
                }
            }

            fn from_body(kind: FrameKind, body: &[u8]) -> Result<Self, FrameError> {
                match kind {
                    $(FrameKind::$name => decode::body::<$name>(body).map(Self::from),)+
                }
            }
        }

        $(
            impl From<$name> for Frame {
                fn from(body: $name) -> Self {
                    Self::$name(Box::new(body))
                }
            }
        )+
    };
}

frames! {
    Hello, Ack, Heartbeat, HeartbeatAck, Goodbye, Refused,
    Launch, Stop, Cancel, Pause, Resume, Dispatch, Fence,
    Reply, Progress, Report, ReportAck,
}
