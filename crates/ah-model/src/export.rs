//! The export of a session: JSON lines with a header, one line per event and a digest at the end.
//!
//! The same state gives the same bytes. The digest covers every byte before its own line, so a
//! cut, changed or reordered document is told from a whole one before anything is written.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Event, Invalid, NewEvent, RawJson, Session, Task, Timestamp, to_hex};

/// The header's `format`.
pub const EXPORT_FORMAT: &str = "agent-harbor-session";
/// The header's `version`.
pub const EXPORT_VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportHeader {
    /// [`EXPORT_FORMAT`].
    pub format: String,
    /// [`EXPORT_VERSION`].
    pub version: u32,
    /// The session, without numbers that mean something in one store only.
    pub session: Session,
    /// The tasks it was started for.
    pub tasks: Vec<Task>,
}

impl ExportHeader {
    /// The header of `session` and its `tasks`.
    pub fn new(session: Session, tasks: Vec<Task>) -> Self {
        let tasks = tasks.into_iter().map(|task| Task { id: None, ..task }).collect();
        let session = Session { repo_id: None, ..session };
        Self { format: EXPORT_FORMAT.to_owned(), version: EXPORT_VERSION, session, tasks }
    }

    /// Refuses a session or task that no store would have taken, and tasks of another session.
    pub fn check(&self) -> Result<(), Invalid> {
        self.session.check()?;
        self.tasks.iter().try_for_each(|task| {
            if task.session_id != self.session.id {
                let reason = format!("belongs to session {}", task.session_id);
                return Err(Invalid::new("task", reason));
            }
            task.check()
        })
    }
}

/// A line between header and footer: an event without its session, which the header names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportedEvent {
    /// Its number, one more than that of the line before.
    pub seq: u64,
    /// When it happened.
    pub ts: Timestamp,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload.
    pub data: RawJson,
    /// Its deduplication key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<String>,
}

impl From<Event> for ExportedEvent {
    fn from(event: Event) -> Self {
        let Event { session_id: _, seq, ts, kind, data, dedup_key } = event;
        Self { seq, ts, kind, data, dedup_key }
    }
}

impl From<ExportedEvent> for NewEvent {
    fn from(event: ExportedEvent) -> Self {
        let ExportedEvent { seq: _, ts, kind, data, dedup_key } = event;
        Self { kind, data, dedup_key, ts: Some(ts) }
    }
}

/// The last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExportFooter {
    /// How many event lines there are.
    pub events: u64,
    /// The digest of every byte before this line.
    pub sha256: String,
}

/// A line after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportLine {
    /// The last line.
    Footer(ExportFooter),
    /// Any line before it.
    Event(ExportedEvent),
}

/// Why a document is not a whole export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// The first line is something else.
    #[error("line 1 is not the header of an {EXPORT_FORMAT} document: {0}")]
    Header(String),
    /// Written by a newer program.
    #[error("the document has version {0}, this program reads up to {EXPORT_VERSION}")]
    Newer(u32),
    /// A line that cannot be read.
    #[error("line {line} cannot be read: {reason}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// No footer: the end is missing.
    #[error("the document is cut off after line {0}: the closing digest is missing")]
    Cut(u64),
    /// Something stands after the footer.
    #[error("line {0} stands after the closing digest")]
    Trailing(u64),
    /// Bytes were changed.
    #[error("the digest does not match: the document says {stated}, its bytes give {found}")]
    Digest {
        /// The footer's digest.
        stated: String,
        /// The digest of the bytes.
        found: String,
    },
    /// Events are missing or out of order.
    #[error("line {line} has seq {found} where {expected} was due")]
    Seq {
        /// Its number, from 1.
        line: u64,
        /// The seq that follows from the line before.
        expected: u64,
        /// The seq it has.
        found: u64,
    },
}

/// Reads a line after the header; `number` is its place in the document.
pub fn parse_export_line(number: u64, line: &str) -> Result<ExportLine, ExportError> {
    // Untagged reading would lose raw JSON, so the footer is told by its own key.
    let reason =
        |error: serde_json::Error| ExportError::Line { line: number, reason: error.to_string() };
    if line.starts_with("{\"events\":") {
        return serde_json::from_str(line).map(ExportLine::Footer).map_err(reason);
    }
    serde_json::from_str(line).map(ExportLine::Event).map_err(reason)
}

/// The running digest of a document's lines.
#[derive(Clone, Default)]
pub struct ExportDigest(Sha256);

impl ExportDigest {
    /// Takes one line, without its end, in.
    pub fn line(&mut self, line: &str) {
        self.0.update(line.as_bytes());
        self.0.update(b"\n");
    }

    /// The digest of the lines so far.
    pub fn finish(self) -> String {
        to_hex(&self.0.finalize())
    }
}
