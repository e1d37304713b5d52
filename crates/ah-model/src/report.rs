//! What an executor reports of its runs, from its outbox, and how far it is kept.
//!
//! The outbox numbers its items without gaps. An item is sent until it is acknowledged, so it may
//! come twice: its number and its key make the second one harmless.

use serde::{Deserialize, Serialize};

use crate::limits::{DEDUP_KEY_BYTES_MAX, EVENT_DATA_BYTES_MAX, LABEL_BYTES_MAX, REPORT_ITEMS_MAX};
use crate::text::check_filled;
use crate::{
    ExecutorId, Exit, Invalid, Lease, NewEvent, OutboxId, RawJson, Run, RunEnd, RunId, RunOutcome,
    RunStatus, SessionId, Timestamp,
};

/// What happened in runs of an executor, in the order of its outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reports {
    /// Who reports.
    pub executor_id: ExecutorId,
    /// Its outbox.
    pub outbox_id: OutboxId,
    /// What happened; numbers rise by one.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = REPORT_ITEMS_MAX)))]
    pub items: Vec<ReportItem>,
}

impl Reports {
    /// As [`ReportItem::check_all`].
    pub fn check(&self) -> Result<(), Invalid> {
        ReportItem::check_all(&self.items)
    }

    /// The items that are not kept yet, when everything up to `through` is; refuses a gap.
    pub fn news(&self, through: u64) -> Result<&[ReportItem], Invalid> {
        let first = self.items.first().map_or(0, |item| item.seq);
        if first > through.saturating_add(1) {
            let reason = format!("{first} where {} is next", through.saturating_add(1));
            return Err(Invalid::new("items.seq", reason));
        }
        let known = self.items.iter().take_while(|item| item.seq <= through).count();
        Ok(self.items.get(known..).unwrap_or_default())
    }
}

/// How far reports are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReportsTaken {
    /// Every item up to this number is durable, or refused for ever: it may be forgotten.
    pub through: u64,
    /// Those of these items that were refused just now.
    pub refused: Vec<ReportRefusal>,
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReportItem {
    /// Its number in the outbox, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub seq: u64,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim: what is said with an older one is refused.
    pub epoch: u64,
    /// The session.
    pub session_id: SessionId,
    /// Unique in the session: the same again changes nothing.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = DEDUP_KEY_BYTES_MAX), pattern(r"\S"))
    )]
    pub dedup_key: String,
    /// When it happened, by the executor's clock.
    pub at: Timestamp,
    /// What happened.
    pub what: Happened,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Happened {
    /// It began.
    Started {},
    /// An event of its session.
    Event {
        /// What it is.
        #[serde(rename = "type")]
        #[cfg_attr(
            feature = "schema",
            schemars(length(min = 1, max = crate::limits::EVENT_TYPE_BYTES_MAX), pattern(r"\S"))
        )]
        kind: String,
        /// Its payload.
        #[serde(default = "RawJson::null")]
        data: RawJson,
    },
    /// It ended.
    Ended(Ended),
}

/// How a run ended. A [`RunEnd`], read without refusing what a newer peer adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// How.
    pub outcome: RunOutcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it gave back.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<RawJson>,
    /// Whether the session waits for its next turn.
    #[serde(default)]
    pub idle: bool,
    /// How the agent's process ended.
    #[serde(default)]
    pub exit: Exit,
}

impl From<Ended> for RunEnd {
    fn from(Ended { outcome, error, result, idle, exit }: Ended) -> Self {
        Self { outcome, error, result, idle, exit }
    }
}

impl ReportItem {
    /// The lease that it was said with.
    pub fn lease(&self) -> Lease {
        Lease { run_id: self.run_id.clone(), epoch: self.epoch }
    }

    /// The event to append, if it is one.
    pub fn event(&self) -> Option<NewEvent> {
        match &self.what {
            Happened::Event { kind, data } => Some(NewEvent {
                kind: kind.clone(),
                data: data.clone(),
                dedup_key: Some(self.dedup_key.clone()),
                ts: Some(self.at),
            }),
            Happened::Started {} | Happened::Ended(_) => None,
        }
    }

    /// Refuses no items, too many or too large ones, a gap in their numbers, and any that breaks
    /// its own rule.
    pub fn check_all(items: &[Self]) -> Result<(), Invalid> {
        if items.is_empty() || items.len() > REPORT_ITEMS_MAX {
            let reason = format!("{}, 1 to {REPORT_ITEMS_MAX} are allowed", items.len());
            return Err(Invalid::new("items", reason));
        }
        let mut wanted = items.first().map(|item| item.seq.max(1));
        for item in items {
            if Some(item.seq) != wanted {
                let next = wanted.map_or_else(|| "nothing".to_owned(), |seq| seq.to_string());
                let reason = format!("{} where {next} is next", item.seq);
                return Err(Invalid::new("items.seq", reason));
            }
            item.check()?;
            wanted = item.seq.checked_add(1);
        }
        let bytes: usize = items.iter().map(Self::payload_bytes).sum();
        if bytes > EVENT_DATA_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {EVENT_DATA_BYTES_MAX} are allowed");
            return Err(Invalid::new("items.data", reason));
        }
        Ok(())
    }

    fn payload_bytes(&self) -> usize {
        match &self.what {
            Happened::Started {} => 0,
            Happened::Event { data, .. } => data.as_str().len(),
            Happened::Ended(Ended { error, result, .. }) => {
                let result = result.as_ref().map_or(0, |result| result.as_str().len());
                result + error.as_ref().map_or(0, String::len)
            }
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        check_filled("items.dedupKey", &self.dedup_key, DEDUP_KEY_BYTES_MAX)?;
        match &self.what {
            Happened::Started {} => Ok(()),
            Happened::Event { .. } => self.event().map_or(Ok(()), |event| event.check()),
            Happened::Ended(ended) => RunEnd::from(ended.clone()).check(),
        }
    }

    /// Why it is not kept, when `run` is what its id names. What was kept before, and is said again
    /// with another number, is no refusal.
    pub fn refusal(&self, executor: &ExecutorId, run: Option<&Run>) -> Option<ReportRefusal> {
        let Some(run) = run else {
            let detail = format!("there is no run {}", self.run_id);
            return Some(self.refused(ReportRefusalReason::UnknownRun, detail));
        };
        if run.session_id != self.session_id {
            let detail = format!("run {} is of session {}", run.id, run.session_id);
            return Some(self.refused(ReportRefusalReason::Invalid, detail));
        }
        if run.lease_epoch != self.epoch {
            let detail = format!("run {} is at epoch {}", run.id, run.lease_epoch);
            return Some(self.refused(ReportRefusalReason::StaleEpoch, detail));
        }
        if run.executor_id.as_ref() != Some(executor) {
            let detail = format!("run {} is not this executor's", run.id);
            return Some(self.refused(ReportRefusalReason::StaleEpoch, detail));
        }
        let said_before = match &self.what {
            Happened::Ended(ended) => run.status == RunStatus::from(ended.outcome),
            Happened::Started {} | Happened::Event { .. } => false,
        };
        let held = run.check_held(&self.lease()).err().filter(|_| !said_before)?;
        Some(self.refused(ReportRefusalReason::Ended, format!("run {} {held}", run.id)))
    }

    fn refused(&self, reason: ReportRefusalReason, detail: String) -> ReportRefusal {
        let cut = detail.chars().take(LABEL_BYTES_MAX / 4).collect();
        ReportRefusal { seq: self.seq, reason, detail: Some(cut) }
    }
}

/// An item that is not kept, and never will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReportRefusal {
    /// Its number in the outbox.
    pub seq: u64,
    /// Why.
    pub reason: ReportRefusalReason,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Why an item is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReportRefusalReason {
    /// The run was given to another since.
    StaleEpoch,
    /// There is no such run.
    UnknownRun,
    /// The run has ended.
    Ended,
    /// It breaks a rule of the store.
    Invalid,
    /// A word of a newer version.
    #[serde(other)]
    Other,
}

/// What is recorded of items that were refused together: how many for each reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedCounts {
    /// The outbox that they came from.
    pub outbox_id: Option<OutboxId>,
    /// Given to another since.
    pub stale_epoch: u64,
    /// Of no run that is known.
    pub unknown_run: u64,
    /// Of a run that had ended.
    pub ended: u64,
    /// Against a rule.
    pub invalid: u64,
}

impl RefusedCounts {
    /// The counts of `refused`, which came from `outbox`.
    pub fn of(outbox: &OutboxId, refused: &[ReportRefusal]) -> Self {
        let count = |reason| refused.iter().filter(|one| one.reason == reason).count() as u64;
        Self {
            outbox_id: Some(outbox.clone()),
            stale_epoch: count(ReportRefusalReason::StaleEpoch),
            unknown_run: count(ReportRefusalReason::UnknownRun),
            ended: count(ReportRefusalReason::Ended),
            invalid: count(ReportRefusalReason::Invalid),
        }
    }
}
