//! The server: the contract through it, and what only it does.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests")]

mod conformance;
mod harness;
mod http;
mod postgres;
mod raw;
mod shapes;
mod sse;
mod time;
