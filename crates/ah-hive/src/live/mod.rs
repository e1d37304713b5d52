//! Live events: what an agent does while it does it, in a file of its own, `state/events.sqlite`.
//!
//! One table, `events(id, ts, kind, payload_json)`. `ts` is the time in whole milliseconds since 1970
//! as an integer: it sorts and compares by itself, which the sweep relies on, and needs no reading of
//! dates that a writer may have made up. The writer only adds; the host alone removes.
//!
//! The file is the agent's, so neither side believes it. It has a rollback journal and no write-ahead
//! log: the log's index is memory that is shared with the agent, who could end the host by cutting
//! it short.

mod bus;
mod database;
mod sweep;

pub use bus::{Bus, BusOptions, BusStatus, Delivery, LiveEvent, Subscription};
pub(crate) use sweep::{Action, Sweep, Told};

/// The file, in `state`.
pub(crate) const FILE: &str = "events.sqlite";
