//! The contract as tests over any [`ah_store::Store`]: one `pub async fn` per behaviour, an
//! in-memory oracle, and a seeded random walk that compares a store with it.
//!
//! Used in dev-dependencies only. A store's own tests give a [`Harness`] to [`conformance!`]. A
//! behaviour panics when the store does not keep it; none is skipped in silence: what stores may
//! do differently is a capability, and both answers are tested.
#![expect(clippy::unwrap_used, reason = "this crate is test code: a panic is its answer")]

pub mod agent;
pub mod agent_destroy;
pub mod agent_import;
pub mod agent_kind;
pub mod agent_session;
pub mod approval;
mod behaviours;
pub mod callback;
pub mod concurrency;
pub mod context;
pub mod draft;
pub mod event;
pub mod event_query;
pub mod executor;
pub mod executor_claim;
pub mod executor_enrol;
pub mod export;
pub mod feed;
pub mod feed_hive;
pub mod fence;
pub mod fleet;
mod given;
mod given_fleet;
mod given_hive;
mod given_run;
mod harness;
pub mod hive;
pub mod keyed;
pub mod kv;
pub mod lineage;
pub mod message;
pub mod message_dead;
pub mod message_receive;
pub mod message_turn;
mod model_store;
pub mod outbox;
pub mod purge;
pub mod question;
mod random;
pub mod relocation;
pub mod repo;
pub mod restore;
pub mod retention;
pub mod run;
pub mod run_claim;
pub mod run_report;
pub mod run_stop;
pub mod run_sweep;
pub mod runtime;
pub mod scrub;
pub mod search;
pub mod secret;
pub mod session;
pub mod session_list;
pub mod spending;
mod stamp;
pub mod task;
pub mod token;
pub mod walk;
pub mod watch;
pub mod workspace;

pub use ah_store::block_on;
pub use harness::{Harness, ModelHarness, TestClock};
pub use model_store::ModelStore;
pub use random::{Random, SeededIds};
