//! The SQL stores: the contract on both engines, and what only they do.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod given;
mod hive;
#[cfg(target_os = "linux")]
mod memory;
mod opening;
mod postgres;
mod schema;
mod sqlite;
mod version_10;
mod version_11;
mod version_3;
mod version_5;
mod version_7;
mod version_8;
mod version_9;
