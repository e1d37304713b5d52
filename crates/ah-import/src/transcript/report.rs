//! What an import of transcripts did.

use ah_model::{Redactions, SessionId, Usage};
use serde::Serialize;

use crate::report::{Counts, Outcome, RecordCounts, Remark, Tally};

/// What an import of a program's transcripts did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptReport {
    /// The program.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Files by what became of them.
    pub files: FileCounts,
    /// Sessions of the files that were read, by what became of them.
    pub sessions: Counts,
    /// Records of all sessions.
    pub records: RecordCounts,
    /// Tokens that are new.
    pub usage: Usage,
    /// Secrets that were taken out, by rule.
    #[serde(skip_serializing_if = "Redactions::is_empty")]
    pub redacted: Redactions,
    /// What belongs to no session; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
    /// Each session of which something was read.
    pub details: Vec<TranscriptSession>,
}

/// Files by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileCounts {
    /// All that were found.
    pub found: u64,
    /// Had something new.
    pub read: u64,
    /// Had nothing new since the last import.
    pub unchanged: u64,
    /// Were last written to before the time asked for.
    pub older: u64,
    /// Hold no conversation, or none yet.
    pub skipped: u64,
    /// Could not be read or stored, or not to their end.
    pub failed: u64,
}

/// What became of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptSession {
    /// Its id in the other program.
    pub id: String,
    /// Its id here, when it was taken.
    pub session_id: Option<SessionId>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it failed.
    pub reason: Option<String>,
    /// Events that were new.
    pub records: u64,
    /// Events that were there already.
    pub present: u64,
    /// Things kept as raw text.
    pub kept_raw: u64,
    /// Tokens that are new.
    pub usage: Usage,
    /// What was kept raw or left out; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
}

impl TranscriptReport {
    pub(super) fn new(source: &str, dry_run: bool) -> Self {
        Self {
            source: source.to_owned(),
            dry_run,
            files: FileCounts::default(),
            sessions: Counts::default(),
            records: RecordCounts::default(),
            usage: Usage::default(),
            redacted: Redactions::default(),
            remarks: Vec::new(),
            more_remarks: 0,
            details: Vec::new(),
        }
    }

    /// Adds what became of the session `id`; `failed` says why not all of it was taken.
    pub(super) fn add(
        &mut self,
        id: String,
        session_id: Option<SessionId>,
        usage: Usage,
        tally: Tally,
        failed: Option<String>,
    ) {
        let Tally { mut records, remarks, more_remarks, given, .. } = tally;
        let outcome = match failed {
            Some(_) => Outcome::Failed,
            None => given.outcome(false),
        };
        (records.imported, records.present) = (given.events, given.present);
        self.sessions.add(outcome);
        self.records.add(&records);
        self.usage = self.usage.plus(usage);
        self.redacted.add_all(&given.redacted);
        self.details.push(TranscriptSession {
            id,
            session_id,
            outcome,
            reason: failed,
            records: given.events,
            present: given.present,
            kept_raw: records.kept_raw,
            usage,
            remarks,
            more_remarks,
        });
    }
}
