//! Foreign formats into any [`Store`]: a file per format, which turns what another program left
//! into model values and gives them to the contract: agents to `import_agent`, sessions that belong
//! to none to `restore_session`, messages, approvals and questions to `import_hive`.
//!
//! What every format keeps to: nothing is lost in silence. What cannot be read is kept as raw text,
//! counted and named; one bad record costs one record, one bad agent costs one agent. A second
//! import adds only what is new. Memory is bounded, whatever the size of the source.
//! This room knows no terminal, no environment and no clock, and changes nothing in the source.
#![warn(missing_docs)]

mod agent;
mod claude_code;
mod codex;
mod coordinator;
mod daycare;
mod daycare_db;
mod foreign_db;
mod gemini;
mod goose;
mod hook;
mod hyperhive;
mod lines;
mod minted;
mod opencode;
mod raw_object;
mod report;
pub mod stream;
mod target;
mod transcript;
mod unreadable;
mod writer;

use std::path::{Path, PathBuf};

use ah_model::{AgentKindRef, Timestamp};
use ah_store::{Store, StoreError};

use writer::Bounds;

pub use coordinator::{CoordinatorReport, RunCounts, SessionReport};
pub use hook::{HookCall, HookEvent, HookFate, HookTool, record_hooks};
pub use hyperhive::{FileFailure, HyperhiveOptions, HyperhiveReport, RowCounts};
pub use report::{AgentReport, Counts, ImportReport, Outcome, RecordCounts, Remark};
pub use stream::{StreamFormat, StreamReader, Streamed};
pub use transcript::{
    FileCounts, Stamp, TranscriptOptions, TranscriptReport, TranscriptSession, transcript_files,
};

/// How to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportOptions {
    /// Only says what an import would do.
    pub dry_run: bool,
    /// The program that the agents are instances of, or that held sessions that do not say it.
    pub kind: AgentKindRef,
    /// The time of what has none.
    pub now: Timestamp,
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// What there is to read.
    Found {
        /// Agents; sessions where a format has no agents.
        agents: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// An agent is done; a session where a format has no agents.
    Agent {
        /// Its id in the other store.
        name: &'a str,
        /// Bytes that were read of it.
        bytes: u64,
    },
}

/// Why there was no import, or why it ended early. What was written before stays; the next import
/// goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Give a directory.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// Give another directory.
    #[error("{} holds no agents: neither a directory `agents` nor folders of agents", path.display())]
    NoAgents {
        /// What was given.
        path: PathBuf,
    },
    /// See the source: the machine refused.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// What cannot be read.
        path: PathBuf,
        /// What the machine said.
        #[source]
        source: std::io::Error,
    },
    /// Give another file.
    #[error("{} is not a database of Daycare: {reason}", path.display())]
    NotDaycareDatabase {
        /// What was given.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
    /// Give another file.
    #[error("{} is not a database of the Agent Coordinator: {reason}", path.display())]
    NotCoordinatorDatabase {
        /// What was given.
        path: PathBuf,
        /// What is missing or wrong, and what was expected.
        reason: String,
    },
    /// Give another file.
    #[error("{} is not a database of Hyperhive: {reason}", path.display())]
    NotHyperhiveDatabase {
        /// What was given.
        path: PathBuf,
        /// What is missing or wrong, and what was expected.
        reason: String,
    },
    /// Give another file, or let the program come to rest.
    #[error("{} cannot be read as a database of {program}: {reason}", path.display())]
    NotTranscriptDatabase {
        /// Whose it should be.
        program: &'static str,
        /// What was given.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
    /// Look after the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Imports the agents of a Daycare data directory of the time before its database: `dir` holds a
/// directory `agents`, or is it.
pub async fn import_daycare(
    store: &dyn Store,
    dir: &Path,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    daycare::import(store, dir, options, Bounds::default(), progress).await
}

/// Imports the agents of a Daycare database of its first schema, a SQLite file.
pub async fn import_daycare_db(
    store: &dyn Store,
    file: &Path,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<ImportReport, ImportError> {
    daycare_db::import(store, file, options, Bounds::default(), progress).await
}

/// Imports the sessions, events and runs of an Agent Coordinator's database, a SQLite file of any
/// age.
pub async fn import_coordinator(
    store: &dyn Store,
    file: &Path,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<CoordinatorReport, ImportError> {
    coordinator::import(store, file, options, progress).await
}

/// Imports what Hyperhive left: its broker's database and the live events of its agents, SQLite
/// files of any age, in the order they are given.
pub async fn import_hyperhive(
    store: &dyn Store,
    files: &[PathBuf],
    hive: &HyperhiveOptions,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<HyperhiveReport, ImportError> {
    hyperhive::import(store, files, hive, options, progress).await
}

/// Imports the transcripts of Claude Code below `root`, or the one transcript that it is.
pub async fn import_claude_code(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    claude_code::import(store, root, options, progress).await
}

/// Imports the rollouts of Codex below `root`, or the one rollout that it is.
pub async fn import_codex(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    codex::import(store, root, options, progress).await
}

/// Imports the sessions of Gemini CLI below `root`, or the one session that it is.
pub async fn import_gemini(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    gemini::import(store, root, options, progress).await
}

/// Imports the sessions of opencode: its database, or those in the directory `root`.
pub async fn import_opencode(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    opencode::import(store, root, options, progress).await
}

/// Imports the sessions of goose: its database, or that in the directory `root`.
pub async fn import_goose(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    goose::import(store, root, options, progress).await
}
