//! State directories on a real file system.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod aside;
mod fixtures;
mod given;
mod processes;
mod pruned;
mod refined;
mod refused;
mod saved;
mod spare;
mod transferred;
mod worker;
