//! Retention: what is removed when, what that gives back, and the receipt of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{ReceiptId, Timestamp};

/// How long finished things are kept, in milliseconds; for ever when absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetentionRules {
    /// Messages, from their acknowledgement on. Others are always kept.
    #[serde(default)]
    pub messages_ms: Option<u64>,
    /// Sessions with their events, from the last thing that happened in them on. Pinned ones, ones
    /// that have not ended, ones that an agent goes on in and ones that others were forked from are
    /// always kept.
    #[serde(default)]
    pub sessions_ms: Option<u64>,
    /// The feed's notes of changes, from the change on.
    #[serde(default)]
    pub changes_ms: Option<u64>,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

impl Default for RetentionRules {
    fn default() -> Self {
        Self { messages_ms: Some(30 * DAY_MS), sessions_ms: None, changes_ms: Some(30 * DAY_MS) }
    }
}

impl RetentionRules {
    /// Rules that remove nothing.
    pub const KEEP: Self = Self { messages_ms: None, sessions_ms: None, changes_ms: None };

    /// What is older than its class allows at `now`: before which time. Absent for what is kept.
    pub fn before(ms: Option<u64>, now: Timestamp) -> Option<Timestamp> {
        ms.map(|ms| now.minus_ms(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

/// So many things and, as far as it can be told, what they weigh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Amount {
    /// How many.
    pub rows: u64,
    /// How many bytes of content.
    pub bytes: u64,
}

impl std::ops::AddAssign for Amount {
    /// What hosts add to receipts may be any number, so sums stop at the largest.
    fn add_assign(&mut self, other: Self) {
        self.rows = self.rows.saturating_add(other.rows);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Amounts by what they are of: `messages`, `sessions`, `events`, `files`, …
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Tally(pub BTreeMap<String, Amount>);

impl Tally {
    /// Adds to one of them; nothing is added for nothing.
    pub fn add(&mut self, class: &str, amount: Amount) {
        if amount != Amount::default() {
            *self.0.entry(class.to_owned()).or_default() += amount;
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(class, amount)| self.add(class, *amount));
    }

    /// How many there are of `class`.
    pub fn rows(&self, class: &str) -> u64 {
        self.0.get(class).map_or(0, |amount| amount.rows)
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

words!(
    /// Why things were removed.
    ReceiptKind, "receipt kind",
    {
        /// They were older than the rules allow.
        Retention = "retention",
        /// Their agent was purged.
        Purge = "purge",
        /// They were secrets.
        Scrub = "scrub",
    }
);

/// What was removed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// Its id.
    pub id: ReceiptId,
    /// Why.
    pub kind: ReceiptKind,
    /// The purged agent's name.
    pub subject: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was complete; absent while it is under way.
    pub finished_at: Option<Timestamp>,
    /// What is gone.
    pub removed: Tally,
}

/// A bounded part of a removal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RemovalStep {
    /// Everything that is gone so far.
    pub receipt: Receipt,
    /// Whether there is more: then do it again.
    pub more: bool,
}

/// Space that was given back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reclaimed {
    /// How many bytes.
    pub bytes: u64,
    /// Whether there is more: then do it again.
    pub more: bool,
}
