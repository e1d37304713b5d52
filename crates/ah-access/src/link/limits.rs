//! What a peer may cost, all of it in one place.

use std::time::Duration;

use crate::frame::FrameKind;

const KIB: u32 = 1024;

/// What a peer may cost. Each limit that is exceeded has an end with a reason, for that peer alone.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Handshakes in progress, with those that nobody has accepted yet. More are refused.
    pub handshakes_max: usize,
    /// Of these, for one address (the first 64 bits of one of IPv6).
    pub handshakes_per_address_max: usize,
    /// Time for a handshake.
    pub handshake_within: Duration,
    /// Connections at a time. More are refused.
    pub connections_max: usize,
    /// Streams at a time that the peer has opened. It waits before it opens more.
    pub streams_max: u32,
    /// Streams at a time that this side has opened. It waits before it opens more.
    pub opened_max: u32,
    /// Time for the first frame of whoever dialled, after the handshake.
    pub first_frame_within: Duration,
    /// Time for one frame, from its first byte.
    pub frame_within: Duration,
    /// Time without a sign of life after which a link is over.
    pub idle: Duration,
    /// How often the side that dialled gives a sign of life.
    pub keep_alive: Duration,
    /// Bytes that arrived on a stream and were not read yet.
    pub stream_window_bytes: u32,
    /// Bytes of all unfinished frames of one link, as announced. A frame that does not fit is read
    /// when others are done.
    pub frames_bytes_max: usize,
}

impl Limits {
    /// For an access point: executors open two streams.
    pub fn listener() -> Self {
        Self { streams_max: 8, opened_max: 128, ..Self::dialer() }
    }

    /// For an executor: an access point opens a stream for each request.
    pub fn dialer() -> Self {
        Self {
            handshakes_max: 256,
            handshakes_per_address_max: 64,
            handshake_within: Duration::from_secs(10),
            connections_max: 20_000,
            streams_max: 128,
            opened_max: 8,
            first_frame_within: Duration::from_secs(10),
            frame_within: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            keep_alive: Duration::from_secs(20),
            stream_window_bytes: 128 * KIB,
            frames_bytes_max: 32 << 20,
        }
    }

    /// What all streams together may hold unread: so much that one that is not read never keeps
    /// another waiting.
    pub(super) fn link_window_bytes(&self) -> u64 {
        let streams = u64::from(self.streams_max) + u64::from(self.opened_max);
        streams * u64::from(self.stream_window_bytes)
    }

    /// Every single frame must fit, or it would never be read.
    pub(super) fn frames_budget(&self) -> usize {
        let longest = FrameKind::ALL.iter().map(|kind| kind.body_bytes_max()).max();
        self.frames_bytes_max.max(longest.unwrap_or(0))
    }
}
