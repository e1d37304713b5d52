//! The window without a terminal: whole screens as text, keys as values, a store in memory.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod agents;
mod gone;
mod needs;
mod replay;
mod seat;
mod sessions;
mod task;
mod walk;
mod world;
