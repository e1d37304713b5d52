//! Every bound of the server in one place; those of values are in `ah_model::limits`.

use std::time::Duration;

use ah_model::limits::{
    APPEND_BYTES_MAX, EVENT_DATA_BYTES_MAX, PROMPT_BYTES_MAX, RUN_RESULT_BYTES_MAX,
};

const MIB: usize = 1024 * 1024;

/// What a byte of text may become in JSON: `\u0001`.
const ESCAPED: usize = 6;

/// Largest body of a route that says nothing else.
pub(crate) const BODY_BYTES_MAX: usize = 16 * MIB;
/// Largest body that holds a prompt, or the first message of a session.
pub(crate) const PROMPT_BODY_BYTES_MAX: usize = ESCAPED * PROMPT_BYTES_MAX + 4 * MIB;
/// Largest body that holds events, or all of a session or an agent.
pub(crate) const EVENTS_BODY_BYTES_MAX: usize = ESCAPED * APPEND_BYTES_MAX;
/// Largest body that holds the reports of an outbox.
pub(crate) const REPORTS_BODY_BYTES_MAX: usize = ESCAPED * EVENT_DATA_BYTES_MAX + 4 * MIB;
/// Largest body that holds a run: what it was told, its result and its error.
pub(crate) const RUN_BODY_BYTES_MAX: usize = PROMPT_BODY_BYTES_MAX + 2 * RUN_RESULT_BYTES_MAX;
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
/// How long a client may take to agree on keys.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Wait after a connection could not be accepted for want of something.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How long a token that was proved is believed without being read again.
pub(crate) const VERIFIED_MAX: Duration = Duration::from_secs(2);
/// How many tokens are believed at once.
pub(crate) const VERIFIED_TOKENS_MAX: usize = 1024;

/// Longest long poll, in seconds.
pub(crate) const WAIT_SECONDS_MAX: u64 = 60;
/// Longest wait for mail, an answer or a decision: shorter than what stands between lets a silent
/// connection live.
pub(crate) const HIVE_WAIT_MS_MAX: u64 = 25_000;
/// How often a stream of events says that it lives.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// A part of a stream is sent once it holds this many bytes.
pub(crate) const STREAM_PART_BYTES: usize = 64 * 1024;
/// How many entries a stream reads from the store at once.
pub(crate) const STREAM_PAGE_ITEMS: u64 = 32;
/// Most bytes of the store that all streams hold while their clients take them; more wait.
pub(crate) const STREAM_PAGES_BYTES_MAX: usize = 256 * MIB;
/// The steps in which [`STREAM_PAGES_BYTES_MAX`] is handed out.
pub(crate) const STREAM_UNIT_BYTES: usize = 1024;

/// Longest wait for a run, in seconds.
pub(crate) const CLAIM_SECONDS_MAX: u64 = 30;

/// How many batches of news a reader may be behind before it is served from the store.
pub(crate) const LIVE_RING: usize = 64;
/// A batch of news is closed once its frames have this many bytes; a larger payload is not held.
pub(crate) const LIVE_BATCH_BYTES: usize = MIB;
/// Most bytes of news that are held for readers; beyond that they are served from the store.
pub(crate) const LIVE_BYTES_MAX: usize = 64 * MIB;
/// The steps in which [`LIVE_BYTES_MAX`] is handed out.
pub(crate) const LIVE_UNIT_BYTES: usize = 1024;
/// How long the feed is followed after the last who wanted news has gone.
pub(crate) const LIVE_LINGER: Duration = Duration::from_secs(10);
/// Longest wait for the feed to be followed.
pub(crate) const LIVE_START_MAX: Duration = Duration::from_secs(5);
/// First pause before a store that failed is followed again; it doubles.
pub(crate) const LIVE_RETRY_MIN: Duration = Duration::from_millis(50);
/// Longest such pause.
pub(crate) const LIVE_RETRY_MAX: Duration = Duration::from_secs(5);
/// How long news gather, for each reader who was told before.
pub(crate) const LIVE_REST_PER_READER: Duration = Duration::from_micros(20);
/// Longest time that news gather.
pub(crate) const LIVE_REST_MAX: Duration = Duration::from_millis(20);
/// Most runs that are to be announced to those who wait; beyond that all of them look.
pub(crate) const ANNOUNCED_RUNS_MAX: usize = 1024;

/// How many sessions are known to be an agent's own, or not, for each of its readers of the feed.
pub(crate) const OWN_SESSIONS_MAX: usize = 4096;
/// Most sessions, and most types, that a reader of the feed may narrow it to.
pub(crate) const FEED_FILTER_MAX: usize = 256;

/// How often time is asked what it has decided about runs, messages and questions.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How long a server that has just begun lets executors renew before it calls any of them lost.
pub(crate) const SWEEP_GRACE: Duration = Duration::from_secs(30);
/// How often approvals that are decided and not carried out are tried again.
pub(crate) const CARRY_OUT_EVERY: Duration = Duration::from_secs(60);
/// How often the index of search is looked after once it is up to date.
pub(crate) const INDEX_EVERY: Duration = Duration::from_secs(1);
/// Events that it takes in at a time: some milliseconds' work.
pub(crate) const INDEX_EVENTS: u64 = 128;
/// How often what is too old is removed.
pub(crate) const RETENTION_EVERY: Duration = Duration::from_secs(60 * 60);

/// Longest wait for requests under way when the server stops.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(10);
/// Longest wait for the threads of a stopped server.
pub(crate) const THREADS_MAX: Duration = Duration::from_secs(2);
/// Longest wait for the store to say that it is ready.
pub(crate) const READY_MAX: Duration = Duration::from_secs(5);

/// Longest path in a line of the log.
pub(crate) const LOG_PATH_BYTES_MAX: usize = 512;
/// Longest request id taken from a client.
pub(crate) const REQUEST_ID_BYTES_MAX: usize = 64;
/// Most sessions that are counted for `pagination.total`.
pub(crate) const COUNTED_SESSIONS_MAX: u64 = 100_000;

/// Largest message of MCP: a body of mail, in JSON, with room for the rest.
pub(crate) const MCP_MESSAGE_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Most calls of one MCP connection that are under way at once.
pub(crate) const MCP_CALLS_MAX: usize = 64;
/// Most connections of one socket at once; more are closed.
#[cfg(unix)]
pub(crate) const MCP_CONNECTIONS_MAX: usize = 64;
/// How long connections of MCP may take to answer what they were asked when the server stops.
pub(crate) const MCP_DRAIN_MAX: Duration = Duration::from_secs(2);
/// How long a tool waits for an answer when nobody says, in seconds.
pub(crate) const MCP_WAIT_SECONDS_DEFAULT: u64 = 20;
/// How long it waits at most: clients give up after five minutes or so.
pub(crate) const MCP_WAIT_SECONDS_MAX: u64 = 240;
/// How long one request waits of a client that calls again by itself: the usual SDKs give up on a
/// request after a minute, and go on for ten requests.
pub(crate) const MCP_ROUND: Duration = Duration::from_secs(50);
/// How often who waits looks by itself, for what time has decided.
pub(crate) const MCP_LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a thread waits for who may have gone away meanwhile.
pub(crate) const MCP_ASIDE_MAX: Duration = Duration::from_secs(20);
/// How long received mail is held when nobody says, in seconds: a turn of an agent.
pub(crate) const MCP_LEASE_SECONDS_DEFAULT: u64 = 600;
/// Most messages that one call takes: a model reads all of them.
pub(crate) const MCP_RECV_MAX: u32 = 16;
/// Longest text to search for.
pub(crate) const MCP_QUERY_BYTES_MAX: usize = 1024;
/// Most hits of one search.
pub(crate) const MCP_FOUND_MAX: usize = 50;
/// Most events that one search reads.
pub(crate) const MCP_SEARCHED_EVENTS_MAX: usize = 20_000;
/// Most bytes of payloads that one search reads, but for the last page.
pub(crate) const MCP_SEARCHED_BYTES_MAX: usize = 32 * MIB;
/// Length of the text that is shown around a hit, in characters.
pub(crate) const MCP_SNIPPET_CHARS: usize = 320;
/// Longest call of a hook: a payload, with room for the rest.
#[cfg(unix)]
pub(crate) const HOOK_BYTES_MAX: u32 = 65 * 1024 * 1024;
/// How long a hook may take to say what it has to say.
#[cfg(unix)]
pub(crate) const HOOK_READ_MAX: Duration = Duration::from_secs(5);
/// How often changes of agents are looked for, for the sake of their sockets.
#[cfg(unix)]
pub(crate) const MCP_SOCKETS_EVERY: Duration = Duration::from_millis(500);

/// How long a browser stays logged in.
pub(crate) const LOGIN_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Largest body of a request to log in.
pub(crate) const LOGIN_BYTES_MAX: usize = 4 * 1024;
