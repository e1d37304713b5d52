//! The kinds of frames: their numbers, who sends them where, and how long they may be.

use std::fmt;

use ah_model::limits::{
    EVENT_DATA_BYTES_MAX, EXECUTOR_JSON_BYTES_MAX, PROMPT_BYTES_MAX, RUN_RESULT_BYTES_MAX,
};

/// Room for the names and numbers around a payload.
const AROUND: usize = 64 * 1024;
/// A body of a few words.
const SMALL: usize = 16 * 1024;
/// A body with a list of runs.
const LISTED: usize = 512 * 1024;

// A report holds an event or the end of a run, whichever is longer.
const _: () = assert!(RUN_RESULT_BYTES_MAX + PROMPT_BYTES_MAX <= EVENT_DATA_BYTES_MAX);

/// What runs in one direction of one stream. A stream carries the frames of one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The executor's half of the control stream.
    ExecutorControl,
    /// The access point's half of the control stream.
    ServerControl,
    /// The access point's half of a stream that it opened for one request.
    Request,
    /// The executor's half of such a stream.
    Answer,
    /// The executor's half of the stream of reports.
    Report,
    /// The access point's half of it.
    ReportAck,
}

impl Lane {
    /// The words of the documentation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExecutorControl => "control, from the executor",
            Self::ServerControl => "control, from the access point",
            Self::Request => "request, from the access point",
            Self::Answer => "request, from the executor",
            Self::Report => "reports, from the executor",
            Self::ReportAck => "reports, from the access point",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! kinds {
    ($($number:literal $name:ident [$($lane:ident),+] $max:expr, $doc:literal;)+) => {
        /// What a frame is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FrameKind {
            $(#[doc = $doc] $name = $number,)+
        }

        impl FrameKind {
            /// Every kind, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The kind with that number on the wire.
            pub fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)+
                    _ => None,
                }
            }

            /// The name of the documentation.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// Where it may come.
            pub fn lanes(self) -> &'static [Lane] {
                match self {
                    $(Self::$name => &[$(Lane::$lane),+],)+
                }
            }

            /// The longest body it may have, in bytes.
            pub fn body_bytes_max(self) -> usize {
                match self {
                    $(Self::$name => $max,)+
                }
            }
        }
    };
}

kinds! {
    1 Hello [ExecutorControl] EXECUTOR_JSON_BYTES_MAX + LISTED, "An executor says who it is and what it has.";
    2 Ack [ServerControl] LISTED, "The access point takes it, and says how they go on.";
    3 Heartbeat [ExecutorControl] LISTED, "The executor lives, and holds these runs.";
    4 HeartbeatAck [ServerControl] LISTED, "It was heard; these runs are no longer its own.";
    5 Goodbye [ExecutorControl, ServerControl] SMALL, "The sender goes, and says why.";
    6 Refused [ServerControl] SMALL, "The access point does not take the executor, and says why.";
    16 Launch [Request] PROMPT_BYTES_MAX + AROUND, "Begin a run.";
    17 Stop [Request] SMALL, "End a run well: ask its process, and end it when the time is over.";
    18 Cancel [Request] SMALL, "End a run at once.";
    19 Pause [Request] SMALL, "Hold a run still.";
    20 Resume [Request] SMALL, "Let a run that was held still go on.";
    21 Dispatch [Request] 1024 * 1024 + AROUND, "Start another process beside a run.";
    22 Fence [Request] SMALL, "Reach a point that all members of a fleet reach before any goes on.";
    32 Reply [Answer] RUN_RESULT_BYTES_MAX + AROUND, "How a request ended; the last frame of its stream.";
    33 Progress [Answer] AROUND, "A request is being worked on.";
    48 Report [Report] EVENT_DATA_BYTES_MAX + 1024 * 1024, "What happened in runs, from the outbox.";
    49 ReportAck [ReportAck] LISTED, "What happened is kept, up to here.";
}

impl fmt::Display for FrameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
