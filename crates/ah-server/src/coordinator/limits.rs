//! Every bound of this interface in one place.

use std::time::Duration;

/// Longest wait of a runner for work, in seconds; its client gives up five seconds later.
pub(super) const POLL_SECONDS: u64 = 30;
/// How often a runner is asked to say that it lives, in seconds.
pub(super) const HEARTBEAT_SECONDS: u64 = 60;
/// A runner that was not heard of for longer is shown as stale.
pub(super) const STALE_MS: i64 = 120_000;

/// Lease of a run that was handed out and not yet begun. Nothing but its own reports keeps it: a
/// runner that never got the answer goes on polling, and must not keep what it does not know of.
pub(super) const CLAIM_LEASE_MS: u64 = 60_000;
/// Lease of a run at work; every poll, heartbeat and report of its runner keeps it.
pub(super) const WORK_LEASE_MS: u64 = 120_000;
/// A lease is renewed once less than this is left of it, so that reports in a row cost no writes.
pub(super) const RENEW_BELOW_MS: u64 = 90_000;
/// A runner that was told to stop a run and says nothing for so long does not know the run.
pub(super) const STOP_HEARD_MS: i64 = 60_000;

/// How long a run with demands waits for a runner that meets them.
pub(super) const NO_MATCH_MS: u64 = 300_000;

/// Most sessions of one list, those with the newest activity.
pub(super) const SESSIONS_MAX: usize = 10_000;
/// Most sessions that a stream begins with, those with the newest activity.
pub(super) const INIT_SESSIONS_MAX: usize = 1_000;
/// How often a stream says that it lives.
pub(super) const STREAM_HEARTBEAT: Duration = Duration::from_secs(30);
/// How often an order to end an idle process is handed out.
pub(super) const STOP_ORDERS_MAX: u64 = 3;
/// How many messages are read at once when the agent's last one is looked for.
pub(super) const MESSAGES_AT_ONCE: u64 = 20;
/// Longest text of an error or a result that is kept with a run.
pub(super) const REPORT_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Deepest nesting of schemas that parameters are checked against.
pub(super) const SCHEMA_DEPTH_MAX: usize = 64;
/// Most mistakes that are told of one set of parameters.
pub(super) const MISTAKES_MAX: usize = 100;
/// How often a stop tries again when the session moves meanwhile.
pub(super) const STOP_TRIES: u32 = 5;
