//! Snapshots by real programs on real directories.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod git;
mod others;
mod support;
