//! Hyperhive's databases: the broker's, with messages, approvals and questions, and a file of live
//! events of each agent. The tables say which of the two a file is.
//!
//! A row is known again by its number and by what of it never changes, so that the same file may
//! come again under any name, longer, or shorter by what was removed for its age. An agent is known
//! again by its name there, in one hive; hives are told apart by the names that the caller gives.
//!
//! Nothing that was approved there is carried out here: that was done there.
//!
//! Memory is bounded by the numbers of all rows of a table, the names of all agents, and pages.

mod approval_row;
mod broker;
mod live;
mod message_row;
mod people;
mod question_row;
mod report;
mod time;
mod unreadable_rows;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use ah_store::Store;

use crate::foreign_db::{Database, Program, Table};
use crate::report::Became;
use crate::target::Target;
use crate::writer::{Bounds, Stop};
use crate::{ImportError, ImportOptions, Progress};

pub use report::{FileFailure, HyperhiveReport, RowCounts};

/// What agents and sessions say they came from.
pub(crate) const SOURCE: &str = "hyperhive";

/// Whose files they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HyperhiveOptions {
    /// A name for the hive, where agents of several hives come into one store.
    pub hive: Option<String>,
    /// The agent whose live events the files hold; their paths say it when absent.
    pub agent: Option<String>,
}

/// What every part of an import needs.
struct Import<'a> {
    store: &'a dyn Store,
    target: Target<'a>,
    hive: &'a HyperhiveOptions,
    options: &'a ImportOptions,
    bounds: Bounds,
    report: HyperhiveReport,
}

pub(crate) async fn import(
    store: &dyn Store,
    files: &[PathBuf],
    hive: &HyperhiveOptions,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<HyperhiveReport, ImportError> {
    let bytes = |file: &PathBuf| fs::metadata(file).map_or(0, |meta| meta.len());
    let all = files.iter().map(bytes).sum();
    progress(Progress::Found { agents: files.len() as u64, bytes: all });
    let target = Target::new(store, options.dry_run);
    let report = HyperhiveReport::new(options.dry_run);
    let bounds = Bounds::default();
    let mut import = Import { store, target, hive, options, bounds, report };
    for file in files {
        match import.file(file).await {
            Ok(()) => {}
            Err(error @ ImportError::Store(_)) => return Err(error),
            Err(error) if files.len() == 1 => return Err(error),
            Err(error) => import.report.fail(file, in_words(&error)),
        }
        progress(Progress::Agent { name: &file.to_string_lossy(), bytes: bytes(file) });
    }
    Ok(import.report)
}

/// An error and what caused it.
fn in_words(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", in_words(source)),
        None => error.to_string(),
    }
}

impl Import<'_> {
    async fn file(&mut self, file: &Path) -> Result<(), ImportError> {
        let database = Database::open(Program::Hyperhive, file)?;
        let found = Table::find(&database, live::TABLE)?;
        match found.filter(|table| lacks(table, &live::NEEDED).is_none()) {
            Some(events) => self.live(file, &database, &events).await,
            None => self.broker(file, &database).await,
        }
    }
}

/// The first of the columns that a table needs and has not.
fn lacks(table: &Table, needed: &[&'static str]) -> Option<&'static str> {
    needed.iter().find(|name| !table.columns.iter().any(|column| column == *name)).copied()
}

/// What became of an agent, unless nothing more can be taken.
fn became(done: Result<bool, Stop>) -> Result<Became, ImportError> {
    match done {
        Ok(changed) => Ok(Became::Taken { changed }),
        Err(Stop::Agent(reason)) => Ok(Became::Skipped(reason)),
        Err(Stop::Failed(reason)) => Ok(Became::Failed(reason)),
        Err(Stop::Import(error)) => Err(error),
    }
}
