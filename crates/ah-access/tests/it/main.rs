//! The frames as bytes, the document that describes them, identities, who lets whom in, and what an
//! executor keeps and runs.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod agent;
mod authority;
mod beside;
mod desk;
mod digest;
mod fencer;
mod fences;
mod fleet;
mod frames;
mod given;
mod handshake;
mod harbor;
mod host;
mod host_crash;
mod identity;
mod lease;
mod link;
mod outbox;
mod peer;
mod point;
mod protocol;
mod real;
mod samples;
mod simulation;
mod spiffe_id;
mod vault;
mod worker;
mod workload;
