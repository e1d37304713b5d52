//! Every bound of the server in one place; those of values are in `ah_model::limits`.

use std::time::Duration;

use ah_model::limits::{APPEND_BYTES_MAX, PROMPT_BYTES_MAX};

const MIB: usize = 1024 * 1024;

/// What a byte of text may become in JSON: `\u0001`.
const ESCAPED: usize = 6;

/// Largest body of a route that says nothing else.
pub(crate) const BODY_BYTES_MAX: usize = 16 * MIB;
/// Largest body that holds a prompt, or the first message of a session.
pub(crate) const PROMPT_BODY_BYTES_MAX: usize = ESCAPED * PROMPT_BYTES_MAX + 4 * MIB;
/// Largest body that holds events, or all of a session or an agent.
pub(crate) const EVENTS_BODY_BYTES_MAX: usize = ESCAPED * APPEND_BYTES_MAX;
/// Most bytes of all bodies that are held at once; one more is told to come later.
pub(crate) const BODIES_BYTES_MAX: usize = 1024 * MIB;
/// The steps in which [`BODIES_BYTES_MAX`] is handed out.
pub(crate) const BODY_UNIT_BYTES: usize = 64 * 1024;
/// Bodies over this are read as JSON on a thread that may be busy for a while.
pub(crate) const SMALL_BODY_BYTES_MAX: usize = 256 * 1024;
/// How much of a refused body is thrown away, so that its sender gets to read why.
pub(crate) const DRAIN_BYTES_MAX: usize = 64 * MIB;
/// How long that may take.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(2);
/// Longest wait for the next part of a body.
pub(crate) const BODY_PART_MAX: Duration = Duration::from_secs(30);
/// Longest wait for all of a body.
pub(crate) const BODY_MAX: Duration = Duration::from_secs(300);

/// Most calls into the store at once; each holds a thread.
pub(crate) const CALLS_MAX: usize = 128;
/// Longest wait for one of them to end.
pub(crate) const CALL_WAIT_MAX: Duration = Duration::from_secs(10);
/// When it is worth trying again after that, or after too many bodies.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Most connections; more wait to be accepted.
pub(crate) const CONNECTIONS_MAX: usize = 8 * 1024;
/// How long a connection may stay without a request under way and nothing written to it.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(60);
/// How long a client may take nothing of what is written to it.
pub(crate) const STALL_MAX: Duration = Duration::from_secs(60);
/// Wait after a connection could not be accepted for want of something.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Longest long poll, in seconds.
pub(crate) const WAIT_SECONDS_MAX: u64 = 60;
/// How often a stream of events says that it lives.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// A part of a stream is sent once it holds this many bytes.
pub(crate) const STREAM_PART_BYTES: usize = 64 * 1024;

/// Longest wait for requests under way when the server stops.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(10);
/// Longest wait for the threads of a stopped server.
pub(crate) const THREADS_MAX: Duration = Duration::from_secs(2);
/// Longest wait for the store to say that it is ready.
pub(crate) const READY_MAX: Duration = Duration::from_secs(5);

/// Longest request id taken from a client.
pub(crate) const REQUEST_ID_BYTES_MAX: usize = 64;
/// Most sessions that are counted for `pagination.total`.
pub(crate) const COUNTED_SESSIONS_MAX: u64 = 100_000;
/// How often a stop tries again when the session moves meanwhile.
pub(crate) const STOP_TRIES: u32 = 5;
