//! Imports into the oracle: what becomes of every record, and of what can go wrong.
#![expect(clippy::unwrap_used, reason = "these are tests")]

mod again;
mod bytes;
mod cases;
mod coordinator;
mod coordinator_again;
mod coordinator_damage;
mod coordinator_db;
mod damaged_cases;
mod database;
mod database_damage;
mod hyperhive;
mod hyperhive_db;
mod places;
mod support;
