//! What an import of sessions did.

use ah_model::SessionId;
use serde::Serialize;

use crate::report::{Became, Counts, Outcome, REMARKS_MAX, RecordCounts, Remark, Tally};

/// What an import of the Agent Coordinator's sessions did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoordinatorReport {
    /// The format.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Sessions by what became of them.
    pub sessions: Counts,
    /// Runs of all sessions.
    pub runs: RunCounts,
    /// Records of all sessions.
    pub records: RecordCounts,
    /// What belongs to no session; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
    /// Each session, parents before their children.
    pub details: Vec<SessionReport>,
}

/// Runs by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunCounts {
    /// Runs that are new.
    pub imported: u64,
    /// Runs that were there already.
    pub present: u64,
}

/// What became of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// Its id in the other store.
    pub id: String,
    /// Its id here, when it was taken.
    pub session_id: Option<SessionId>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it failed.
    pub reason: Option<String>,
    /// Runs that were new.
    pub runs: u64,
    /// Events that were new.
    pub records: u64,
    /// Events that were there already.
    pub present: u64,
    /// Things kept as raw text.
    pub kept_raw: u64,
    /// What was kept raw, defaulted or left out; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
}

impl CoordinatorReport {
    pub(super) fn new(source: &str, dry_run: bool, general: Tally) -> Self {
        Self {
            source: source.to_owned(),
            dry_run,
            sessions: Counts::default(),
            runs: RunCounts::default(),
            records: RecordCounts::default(),
            remarks: general.remarks,
            more_remarks: general.more_remarks,
            details: Vec::new(),
        }
    }

    /// Adds what became of the session `id`, which is `session_id` here.
    pub(super) fn add(
        &mut self,
        id: &str,
        session_id: Option<SessionId>,
        became: Became,
        tally: Tally,
    ) {
        let Tally { mut records, remarks, more_remarks, given, .. } = tally;
        let (outcome, reason) = match became {
            Became::Skipped(reason) => (Outcome::Skipped, Some(reason)),
            Became::Failed(reason) => (Outcome::Failed, Some(reason)),
            Became::Taken { changed } => (given.outcome(changed), None),
        };
        (records.imported, records.present) = (given.events, given.present);
        self.records.add(&records);
        self.details.push(SessionReport {
            id: id.to_owned(),
            session_id,
            outcome,
            reason,
            runs: 0,
            records: given.events,
            present: given.present,
            kept_raw: records.kept_raw,
            remarks,
            more_remarks,
        });
    }

    /// Adds up the sessions, once nothing more is said of any.
    pub(super) fn finish(mut self) -> Self {
        for session in &self.details {
            self.sessions.add(session.outcome);
        }
        self
    }
}

impl SessionReport {
    /// Notes a run that is new.
    pub(super) fn add_run(&mut self) {
        self.runs += 1;
        if self.outcome == Outcome::Unchanged {
            self.outcome = Outcome::Updated;
        }
    }

    /// Notes that something of the session could not be stored.
    pub(super) fn fail(&mut self, reason: String) {
        self.outcome = Outcome::Failed;
        self.reason.get_or_insert(reason);
    }

    pub(super) fn remark(&mut self, file: &str, line: Option<u64>, what: String) {
        if self.remarks.len() < REMARKS_MAX {
            self.remarks.push(Remark { file: file.to_owned(), line, what });
        } else {
            self.more_remarks += 1;
        }
    }
}
