//! What an executor reports of its runs, from its outbox, and how far the access point has kept it.
//!
//! The outbox numbers its items without gaps. An item is sent until it is acknowledged, so it may
//! come twice: its number and its key make the second one harmless.

use ah_model::limits::{DEDUP_KEY_BYTES_MAX, EVENT_DATA_BYTES_MAX, LABEL_BYTES_MAX};
use ah_model::{
    Exit, Invalid, NewEvent, OutboxId, RawJson, RunEnd, RunId, RunOutcome, SessionId, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::bounded::{check_count, check_filled, check_optional, given, list};
use super::{Body, FrameKind};

/// Most items of one report.
pub(super) const ITEMS_MAX: usize = 1_024;

/// What happened in runs, in the order of the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The outbox.
    pub outbox_id: OutboxId,
    /// What happened; numbers rise by one.
    #[serde(deserialize_with = "list::<_, _, ITEMS_MAX>")]
    pub items: Vec<ReportItem>,
}

/// One thing that happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportItem {
    /// Its number in the outbox, from 1.
    pub seq: u64,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim: what is said with an older one is refused.
    pub epoch: u64,
    /// The session.
    pub session_id: SessionId,
    /// Unique in the session: the same again changes nothing.
    pub dedup_key: String,
    /// When it happened, by the executor's clock.
    pub at: Timestamp,
    /// What happened.
    pub what: Happened,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Happened {
    /// It began.
    Started {},
    /// An event of its session.
    Event {
        /// What it is.
        #[serde(rename = "type")]
        kind: String,
        /// Its payload.
        #[serde(default = "RawJson::null")]
        data: RawJson,
    },
    /// It ended.
    Ended(Ended),
}

/// How a run ended. The model's [`RunEnd`], read without refusing what a newer peer adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// How.
    pub outcome: RunOutcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it gave back.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
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

    fn check(&self) -> Result<(), Invalid> {
        check_filled("items.dedupKey", &self.dedup_key, DEDUP_KEY_BYTES_MAX)?;
        match &self.what {
            Happened::Started {} => Ok(()),
            Happened::Event { .. } => self.event().map_or(Ok(()), |event| event.check()),
            Happened::Ended(ended) => RunEnd::from(ended.clone()).check(),
        }
    }
}

impl Body for Report {
    const KIND: FrameKind = FrameKind::Report;

    fn check(&self) -> Result<(), Invalid> {
        check_count("items", self.items.len(), ITEMS_MAX)?;
        let Some(first) = self.items.first() else {
            return Err(Invalid::new("items", "must not be empty"));
        };
        for (item, wanted) in self.items.iter().zip(first.seq.max(1)..) {
            if item.seq != wanted {
                let reason = format!("{} where {wanted} is next", item.seq);
                return Err(Invalid::new("items.seq", reason));
            }
            item.check()?;
        }
        let length = |item: &ReportItem| match &item.what {
            Happened::Event { data, .. } => data.as_str().len(),
            Happened::Started {} | Happened::Ended(_) => 0,
        };
        check_count("items.data", self.items.iter().map(length).sum(), EVENT_DATA_BYTES_MAX)
    }
}

/// What happened is kept, up to here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAck {
    /// The outbox.
    pub outbox_id: OutboxId,
    /// Every item up to this number is durable, or refused for ever: it may be forgotten.
    pub through: u64,
    /// Those of them that were refused.
    #[serde(default, deserialize_with = "list::<_, _, ITEMS_MAX>")]
    pub refused: Vec<ReportRefusal>,
}

/// An item that is not kept, and never will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl Body for ReportAck {
    const KIND: FrameKind = FrameKind::ReportAck;

    fn check(&self) -> Result<(), Invalid> {
        check_count("refused", self.refused.len(), ITEMS_MAX)?;
        let mut details = self.refused.iter().map(|refusal| refusal.detail.as_deref());
        details.try_for_each(|detail| check_optional("refused.detail", detail, LABEL_BYTES_MAX))
    }
}
