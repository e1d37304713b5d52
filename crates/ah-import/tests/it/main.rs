//! Imports into the oracle: what becomes of every record, and of what can go wrong.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod again;
mod bytes;
mod cases;
mod claude_code;
mod claude_code_cases;
mod codex;
mod coordinator;
mod coordinator_again;
mod coordinator_damage;
mod coordinator_db;
mod damaged_cases;
mod database;
mod database_damage;
mod gemini;
mod goose;
mod hook;
mod hyperhive;
mod hyperhive_db;
mod opencode;
mod places;
mod stream;
mod support;
mod transcript;
mod transcript_growth;
mod transcript_hooks;
