//! Tests of the room as its users see it.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod bus;
mod commits;
mod given;
mod homes;
#[cfg(target_os = "linux")]
mod left;
mod model;
mod purges;
mod resident;
mod resident_given;
mod spawns;
mod sweep;
