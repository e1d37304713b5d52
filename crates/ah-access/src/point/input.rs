//! What an access point is told, and what it wants done.

use ah_model::{ExecutorId, FenceId, MemberName, RawJson, RequestId, RunId, Snapshot};

use super::work::{Done, Work};
use crate::frame::{Dispatch, FenceStep, Frame, PauseMode, Progress, Reply};

/// A connection, by the number its holder gave it. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A stream of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// Greeting, heartbeats, farewell.
    Control,
    /// What happens in runs.
    Reports,
    /// One request.
    Request(RequestId),
}

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// A peer has shown who it is.
    Connected {
        /// The connection.
        connection: ConnectionId,
        /// Whom its certificate names.
        peer: ExecutorId,
        /// What else the certificate says, to be kept with the enrolment.
        identity: RawJson,
    },
    /// A frame came.
    Frame {
        /// On this connection.
        connection: ConnectionId,
        /// On this stream.
        stream: Stream,
        /// The frame.
        frame: Frame,
    },
    /// The executor dropped the stream of a request.
    RequestDropped {
        /// The connection.
        connection: ConnectionId,
        /// The request.
        request: RequestId,
    },
    /// How long a round trip takes.
    Measured {
        /// The connection.
        connection: ConnectionId,
        /// Milliseconds.
        rtt_ms: u32,
    },
    /// A connection is gone.
    Closed {
        /// The connection.
        connection: ConnectionId,
    },
    /// A run may be waiting, or is to be stopped.
    Stirred,
    /// Somebody changed what the store has of an executor.
    Changed {
        /// The executor.
        executor: ExecutorId,
    },
    /// Somebody wants something of the holder of a run.
    Ask(Ask),
    /// Whoever asked wants it no more.
    TakeBack {
        /// What the ask came with.
        token: u64,
    },
    /// The store has answered.
    Done(Box<Done>),
    /// Time has passed.
    Tick,
    /// The access point is about to stop.
    Leave,
}

/// What is wanted of the holder of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Comes back with every answer.
    pub token: u64,
    /// The run.
    pub run_id: RunId,
    /// On whose behalf.
    pub actor: Option<String>,
    /// How long it may take; an answer is awaited a moment longer.
    pub deadline_ms: u64,
    /// What.
    pub what: Asked,
}

/// What a holder is asked for. Ids, epoch and deadline are filled in when it is sent, but for the id
/// and the epoch of a dispatch: asked for again, it must be the same one.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// See [`crate::frame::Pause`].
    Pause(PauseMode),
    /// See [`crate::frame::Resume`].
    Resume,
    /// See [`crate::frame::Cancel`].
    Cancel,
    /// See [`Dispatch`].
    Dispatch(Box<Dispatch>),
    /// See [`crate::frame::Fence`].
    Fence(Box<FenceAsk>),
}

/// What a member is asked for at a fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FenceAsk {
    /// The fence.
    pub fence_id: FenceId,
    /// What it does.
    pub step: FenceStep,
    /// The leader's files, once they are known.
    pub snapshot: Option<Snapshot>,
    /// Who leads.
    pub leader: MemberName,
}

/// What came of an [`Ask`].
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is being worked on.
    Progress(Progress),
    /// It is done, or was not.
    Reply {
        /// Of the claim that the executor holds the run by: what it says, it says under that.
        epoch: u64,
        /// What it says.
        reply: Reply,
    },
    /// No answer came in time.
    TimedOut,
    /// The executor went away before it answered.
    Gone,
    /// Nobody who is connected here holds the run.
    NotHere,
}

/// Something to be done.
#[derive(Debug)]
pub enum Output {
    /// Send a frame; a request's stream is opened by its first one.
    Send {
        /// On this connection.
        connection: ConnectionId,
        /// On this stream.
        stream: Stream,
        /// The frame.
        frame: Frame,
    },
    /// Drop the stream of a request.
    DropRequest {
        /// The connection.
        connection: ConnectionId,
        /// The request.
        request: RequestId,
    },
    /// Close a connection once what was sent is on its way.
    Close {
        /// The connection.
        connection: ConnectionId,
        /// Why, as one word.
        word: &'static str,
    },
    /// Ask the store.
    Work(Work),
    /// Tell whoever asked.
    Answer {
        /// What the ask came with.
        token: u64,
        /// The answer.
        answer: Answer,
    },
}
