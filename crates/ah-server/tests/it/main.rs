//! The server: the contract through it, and what only it does.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod auth;
mod claim;
mod conformance;
mod coordinator;
mod dashboard;
mod document;
mod executor;
mod feed;
mod generated;
mod given;
mod guarded;
mod harness;
mod hive;
mod http;
mod idempotency;
mod jobs;
mod mcp;
mod observed;
mod postgres;
mod raw;
mod run;
mod shapes;
mod sse;
mod stream;
mod sweep;
mod time;
mod tls;
mod two_servers;
mod walk;
