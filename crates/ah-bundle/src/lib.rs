//! State bundles: the prompts and settings of a scope as files that can be trusted.
//!
//! A state directory holds immutable snapshots (`state-<time>-<hash>.json`), each linked to its parent
//! by the hash of the parent's bytes; a head per scope; and `latest.json`, which names the newest save
//! and keeps the directory readable by the program the format comes from.
//!
//! Reads change nothing: no directory, lock or mode. Writes happen under a lock that dies with its
//! process, and appear whole or not at all. What is unsafe is refused, what is damaged is named and
//! passed over. Time comes from the caller; no environment, no terminal, no store. Unix only: modes,
//! owners and links are what it guards.
#![warn(missing_docs)]

mod bundle;
mod diff;
mod disk;
mod error;
mod export;
mod import;
pub mod json;
mod list;
mod log;
mod parent;
mod peek;
mod permissions;
mod pointer;
mod problem;
mod prune;
mod quarantine;
mod redact;
mod refine;
mod resolve;
mod save;
mod sha;
mod snapshot;
mod spare;
mod state_dir;
mod survey;
mod time;
mod verify;

pub use bundle::Bundle;
pub use diff::{Change, diff};
pub use error::{BundleError, UnsafeDirectory};
pub use export::Exported;
pub use import::{EXPORT_BYTES_MAX, HeadConflict, Imported, ImportedHead};
pub use list::Listed;
pub use log::{ChainEnd, Log, LogEntry};
pub use permissions::{Fixed, ModeChange};
pub use problem::{Damage, Problem};
pub use prune::{Pruned, PrunedFile};
pub use quarantine::{Moved, Quarantined, Repointed};
pub use redact::Redacted;
pub use refine::{Refinement, Setting};
pub use save::Saved;
pub use sha::{scope_key, toolset_hash};
pub use snapshot::Snapshot;
pub use state_dir::{DryRun, Loaded, SNAPSHOT_BYTES_MAX, StateDir, Step};
pub use verify::{BrokenLink, Note, Report, ScopeReport};
