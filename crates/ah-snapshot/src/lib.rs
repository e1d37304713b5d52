//! Snapshots of the files a session works on: taken, listed, compared, restored and branched.
//!
//! A snapshot belongs to its provider (Git, Btrfs, ZFS), which is asked each time: nothing here keeps
//! a list of its own. Providers are programs that are run; what a program may change of the user's is
//! said in its file. Time, ids and where programs are come from the caller; no environment is read,
//! no store, no terminal. Unix only: links and modes are part of what is kept.
#![warn(missing_docs)]

mod agentfs;
mod btrfs;
mod command;
mod directory;
mod error;
mod git;
mod name;
mod provider;
mod zfs;

pub use error::SnapshotError;
pub use provider::{
    Branch, ChangeKind, Created, Detection, FileChange, Ignored, NewBranch, NewSnapshot, Programs,
    Provider, choose, provider, providers, working_copy,
};
