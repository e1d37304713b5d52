//! Executors over QUIC: frames, access point, executor side, presence over enrolment.
//!
//! Both ends of one protocol stand here, so that they are tested against each other without HTTP.
//! Knows no SQL, no terminal, no environment and no configuration.
#![warn(missing_docs)]

pub mod ca;
pub mod executor;
mod file;
pub mod frame;
pub mod identity;
pub mod keyring;
pub mod link;
pub mod moment;
pub mod peer;
pub mod point;
pub mod run;
mod talk;
pub mod tls;
