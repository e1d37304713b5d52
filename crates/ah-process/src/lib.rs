//! Processes of this machine: how one is known again, how a group of them is ended, how one is run
//! to its end, and files that only one process holds.
//!
//! Knows nothing of what the processes are for: no model, no store, no terminal, no environment.
#![warn(missing_docs)]

mod boot;
mod end;
mod finish;
mod group;
mod lock;
mod processes;
mod program;

pub use boot::since_boot;
pub use end::end_all;
pub use finish::{Bounds, Output, finish, finish_cut};
pub use group::{Group, begin};
pub use lock::{Lock, LockError, lock_soon, open_private};
pub use processes::{Born, Process, all, born};
pub use program::{fill, is_found};
