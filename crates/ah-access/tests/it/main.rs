//! The frames as bytes, the document that describes them, identities, and who lets whom in.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod authority;
mod frames;
mod given;
mod handshake;
mod identity;
mod peer;
mod protocol;
mod samples;
mod spiffe_id;
mod vault;
mod workload;
