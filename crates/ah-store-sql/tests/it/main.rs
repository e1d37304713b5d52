//! The SQL stores: the contract on both engines, and what only they do.

mod postgres;
mod sqlite;
