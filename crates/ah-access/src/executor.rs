//! The executor's side: what it keeps, what it runs, and how it speaks with an access point.
//!
//! What must survive the executor's own end is in files below one directory that only one executor
//! uses at a time ([`host`], [`outbox`]). What it decides is in [`core`], which knows neither files
//! nor the network.

mod converse;
pub mod core;
mod desk;
pub mod detect;
pub mod digest;
mod fence;
mod folder;
pub mod host;
pub mod keep;
mod limits;
pub mod outbox;
mod parameters;
mod program;
mod pump;
mod serve;

pub use program::ProgramId;
pub use serve::{Executor, ExecutorHandle, Mailbox, Parts, Servers, Tell};
