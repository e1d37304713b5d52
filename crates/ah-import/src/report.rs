//! What an import found and did, down to each thing that was not taken as it stood.

use ah_model::{AgentId, AgentImported, Redactions};
use serde::Serialize;

/// Most remarks of one agent; more are counted.
pub(crate) const REMARKS_MAX: usize = 100;

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// The format.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// Agents by what became of them.
    pub agents: Counts,
    /// Sessions that were new.
    pub sessions: u64,
    /// Records of all agents.
    pub records: RecordCounts,
    /// What belongs to no agent; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
    /// Each agent, in the order it was found.
    pub details: Vec<AgentReport>,
}

/// Agents by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All that were found.
    pub found: u64,
    /// Not here before.
    pub imported: u64,
    /// Here before, with something new.
    pub updated: u64,
    /// Here before, with nothing new.
    pub unchanged: u64,
    /// Not taken because there is nothing to take; its report gives the reason.
    pub skipped: u64,
    /// Not taken, or not to its end, because it could not be read or stored.
    pub failed: u64,
}

/// Records by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordCounts {
    /// Events that are new.
    pub imported: u64,
    /// Events that were there already.
    pub present: u64,
    /// Things kept as raw text because they cannot be read, whether new or there already.
    pub kept_raw: u64,
    /// Records without a time, which got that of the one before.
    pub untimed: u64,
    /// Records that begin a session, which are no events unless they hold more.
    pub markers: u64,
    /// Lines with nothing in them.
    pub blank: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.found += 1;
        match outcome {
            Outcome::Imported => self.imported += 1,
            Outcome::Updated => self.updated += 1,
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Skipped => self.skipped += 1,
            Outcome::Failed => self.failed += 1,
        }
    }
}

impl RecordCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.imported += other.imported;
        self.present += other.present;
        self.kept_raw += other.kept_raw;
        self.untimed += other.untimed;
        self.markers += other.markers;
        self.blank += other.blank;
    }
}

/// What became of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    /// Its id in the other store.
    pub id: String,
    /// The folder or database it is in.
    pub path: String,
    /// The name it has here; its id there when it was not taken.
    pub name: String,
    /// Its id here, when it has one.
    pub agent_id: Option<AgentId>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was skipped or failed.
    pub reason: Option<String>,
    /// Sessions that were new.
    pub sessions: u64,
    /// Events that were new.
    pub records: u64,
    /// Events that were there already.
    pub present: u64,
    /// Things kept as raw text.
    pub kept_raw: u64,
    /// What was kept raw, repaired, defaulted, skipped or left alone; the first 100.
    pub remarks: Vec<Remark>,
    /// How many remarks were left out.
    pub more_remarks: u64,
}

/// What became of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It was not here before.
    Imported,
    /// It was here, and something was new.
    Updated,
    /// It was here, and nothing was new.
    Unchanged,
    /// There was nothing to take.
    Skipped,
    /// It could not be read or stored, or not to its end.
    Failed,
}

/// A thing that was not taken as it stood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Remark {
    /// The file or table.
    pub file: String,
    /// The line, or the number of the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What was found and what was done.
    pub what: String,
}

/// What is noted of an agent, or of what belongs to none, while it is read.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) records: RecordCounts,
    pub(crate) remarks: Vec<Remark>,
    pub(crate) more_remarks: u64,
    /// Bytes read.
    pub(crate) bytes: u64,
    /// What the store took.
    pub(crate) given: Given,
}

/// What a store took of an agent, or would take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Given {
    /// The agent; absent before anything is given, and in a dry run when its id is not known yet.
    pub(crate) agent_id: Option<AgentId>,
    pub(crate) name: Option<String>,
    pub(crate) created: bool,
    pub(crate) sessions: u64,
    pub(crate) events: u64,
    pub(crate) present: u64,
    /// Secrets that were taken out.
    pub(crate) redacted: Redactions,
}

impl From<AgentImported> for Given {
    fn from(done: AgentImported) -> Self {
        Self {
            agent_id: Some(done.agent_id),
            name: Some(done.name),
            created: done.created,
            sessions: done.sessions,
            events: done.events,
            present: done.present,
            redacted: Redactions::default(),
        }
    }
}

impl Given {
    /// Adds what was given after it of the same agent.
    pub(crate) fn add(&mut self, next: Self) {
        self.created |= next.created;
        self.sessions += next.sessions;
        self.events += next.events;
        self.present += next.present;
        (self.agent_id, self.name) = (next.agent_id, next.name);
    }

    pub(crate) fn outcome(&self, changed: bool) -> Outcome {
        match self.created {
            true => Outcome::Imported,
            false if changed || self.sessions > 0 || self.events > 0 => Outcome::Updated,
            false => Outcome::Unchanged,
        }
    }
}

impl Tally {
    pub(crate) fn remark(&mut self, file: &str, line: Option<u64>, what: impl Into<String>) {
        if self.remarks.len() < REMARKS_MAX {
            self.remarks.push(Remark { file: file.to_owned(), line, what: what.into() });
        } else {
            self.more_remarks += 1;
        }
    }

    /// Notes a thing that is kept raw.
    pub(crate) fn kept_raw(&mut self, file: &str, line: Option<u64>, reason: &str) {
        self.records.kept_raw += 1;
        self.remark(file, line, format!("kept raw: {reason}"));
    }
}

impl ImportReport {
    pub(crate) fn new(source: &str, dry_run: bool) -> Self {
        Self {
            source: source.to_owned(),
            dry_run,
            agents: Counts::default(),
            sessions: 0,
            records: RecordCounts::default(),
            remarks: Vec::new(),
            more_remarks: 0,
            details: Vec::new(),
        }
    }

    /// Adds what became of the agent `id` in `path`.
    pub(crate) fn add(&mut self, id: &str, path: &str, became: Became, tally: Tally) {
        let Tally { mut records, remarks, more_remarks, given, .. } = tally;
        let (outcome, reason) = match became {
            Became::Skipped(reason) => (Outcome::Skipped, Some(reason)),
            Became::Failed(reason) => (Outcome::Failed, Some(reason)),
            Became::Taken { changed } => (given.outcome(changed), None),
        };
        (records.imported, records.present) = (given.events, given.present);
        self.agents.add(outcome);
        self.sessions += given.sessions;
        self.records.add(&records);
        self.details.push(AgentReport {
            id: id.to_owned(),
            path: path.to_owned(),
            name: given.name.unwrap_or_else(|| id.to_owned()),
            agent_id: given.agent_id,
            outcome,
            reason,
            sessions: given.sessions,
            records: given.events,
            present: given.present,
            kept_raw: records.kept_raw,
            remarks,
            more_remarks,
        });
    }
}

/// How the import of an agent went.
pub(crate) enum Became {
    /// It was taken to its end; whether its state is another than before.
    Taken { changed: bool },
    /// There was nothing to take, for this reason.
    Skipped(String),
    /// It could not be taken, for this reason.
    Failed(String),
}
