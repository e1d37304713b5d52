//! The host's side of a run on this machine: the program of an agent kind, started for a task or to
//! go on with a session, watched until it ends, its words in the log of the session.
//!
//! Who may work on a session is decided by the store: whoever works holds the lease of its run.
//! What is here is carried out and noted, and every step can be done again after a crash.
//! Synchronous; knows no terminal, no environment and no SQL. Time comes from the caller's clock.
#![warn(missing_docs)]

mod child;
mod error;
mod folder;
mod kind;
mod local;
mod multiplexer;
mod place;
mod prime;
mod reconcile;
mod record;
mod work;

pub use child::become_program;
pub use error::RunError;
pub use folder::{Folder, Folders};
pub use kind::{AgentProgram, AgentPrograms, SCRIPTED};
pub use local::{Local, LocalOptions};
pub use multiplexer::{NewPane, attach};
pub use place::{is_clean, remove_worktree, short};
pub use prime::primed;
pub use reconcile::Reconciled;
pub use record::readable;
pub use work::{Done, Show, Stop, Tell};
