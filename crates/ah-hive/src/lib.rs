//! The host's side of the hive: what agents have on this machine, and what is done there for them.
//!
//! A home per agent below the state directory, the configuration that is in force, live events, what
//! approvals allow, removal of what is too old, and the turn loop of resident agents. Synchronous;
//! decisions and queues are the store's, over the contract.
#![warn(missing_docs)]

mod applied;
mod carry_out;
mod diff;
mod error;
mod git;
mod home;
mod host;
mod live;
mod model_file;
mod place;
mod purge;
pub mod resident;
mod retention;
mod wipe;

pub use error::HostError;
pub use home::{Home, Homes};
pub use host::Host;
pub use live::{Bus, BusOptions, BusStatus, Delivery, LiveEvent, Subscription};
pub use model_file::check_model;
pub use retention::{HostPlan, HostRetained, HostRules, LiveRules};
