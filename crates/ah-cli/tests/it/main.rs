//! The `ah` program from outside: whole processes on real files.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod adversity;
mod agent;
mod agent_context;
mod agent_session;
mod answers;
mod approval;
mod bad_input;
mod bad_place;
mod bundle;
mod bundle_openai;
mod bundle_run;
mod ca;
mod config;
mod damage;
mod db;
mod draft;
mod events;
mod export;
mod import;
mod kv;
mod mcp;
mod message;
mod output;
mod question;
mod remote;
mod repo;
mod resident;
mod run;
mod session;
mod support;
mod task;
mod token;
mod upgrade;
