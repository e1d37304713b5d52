//! MCP: both eras on every way in, who may do what as whom, and what is kept when nobody waits.
#![cfg(unix)]

mod approval;
mod client;
mod era;
mod given;
mod history;
mod http;
mod identity;
mod line;
mod mail;
mod manage;
mod question;
mod round;
mod socket;
mod wire;
