//! What an import from Hyperhive did.

use std::path::Path;

use ah_model::HiveImported;
use serde::Serialize;

use super::SOURCE;
use crate::report::ImportReport;

/// What an import from Hyperhive did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HyperhiveReport {
    /// Agents that the files name, and their live events.
    #[serde(flatten)]
    pub import: ImportReport,
    /// Messages by what became of them.
    pub messages: RowCounts,
    /// Approvals by what became of them.
    pub approvals: RowCounts,
    /// Questions by what became of them.
    pub questions: RowCounts,
    /// Files of which nothing, or not all, could be taken.
    pub failed: Vec<FileFailure>,
}

/// Rows by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowCounts {
    /// New here.
    pub imported: u64,
    /// Here before, and decided there since.
    pub updated: u64,
    /// Here before, and left as they are.
    pub present: u64,
    /// Kept as raw text because they cannot be taken, whether new or there already.
    pub kept_raw: u64,
}

impl RowCounts {
    pub(super) fn add(&mut self, done: HiveImported) {
        self.imported += done.created;
        self.updated += done.updated;
        self.present += done.present;
    }
}

/// A file that could not be taken to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFailure {
    /// What was given.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl HyperhiveReport {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            import: ImportReport::new(SOURCE, dry_run),
            messages: RowCounts::default(),
            approvals: RowCounts::default(),
            questions: RowCounts::default(),
            failed: Vec::new(),
        }
    }

    /// Notes that not all of `file` could be taken.
    pub(super) fn fail(&mut self, file: &Path, reason: String) {
        let path = file.to_string_lossy().into_owned();
        self.failed.push(FileFailure { path, reason });
    }
}
