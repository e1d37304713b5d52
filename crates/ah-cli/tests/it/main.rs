//! The `ah` program from outside: whole processes on real files.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod adversity;
mod support;
