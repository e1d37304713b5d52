//! Events: the append-only log of a session, numbered by `seq` from 1 without gaps.
//!
//! `type` is open text. `data` is any JSON and is kept as it was written: 0, false, "", [], {} and
//! null are different values and stay so.

use serde::{Deserialize, Serialize};

use crate::limits::{
    APPEND_BYTES_MAX, APPEND_EVENTS_MAX, DEDUP_KEY_BYTES_MAX, EVENT_DATA_BYTES_MAX,
    EVENT_TYPE_BYTES_MAX, FILTER_TYPES_MAX, JSON_DEPTH_MAX,
};
use crate::text::check_filled;
use crate::{Invalid, PageLimit, RawJson, Redactions, SessionId, Timestamp};

/// One record of a session's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// The session it belongs to.
    pub session_id: SessionId,
    /// Its number in the session, from 1.
    pub seq: u64,
    /// When it happened, as its writer said.
    pub ts: Timestamp,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its payload.
    pub data: RawJson,
    /// The key that makes a second append of it harmless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_key: Option<String>,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewEvent {
    /// What it is.
    #[serde(rename = "type")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = EVENT_TYPE_BYTES_MAX), pattern(r"\S"))
    )]
    pub kind: String,
    /// Its payload; `null` when absent.
    #[serde(default = "RawJson::null")]
    pub data: RawJson,
    /// A key unique in the session: the same key again is a success that changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = DEDUP_KEY_BYTES_MAX), pattern(r"\S"))
    )]
    pub dedup_key: Option<String>,
    /// When it happened; the time of the append when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts: Option<Timestamp>,
}

impl NewEvent {
    /// Refuses an empty type, overlong texts and payloads nested too deep.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("type", &self.kind, EVENT_TYPE_BYTES_MAX)?;
        if let Some(key) = &self.dedup_key {
            check_filled("dedupKey", key, DEDUP_KEY_BYTES_MAX)?;
        }
        let bytes = self.data.as_str().len();
        if bytes > EVENT_DATA_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {EVENT_DATA_BYTES_MAX} are allowed");
            return Err(Invalid::new("data", reason));
        }
        let depth = self.data.depth();
        if depth > JSON_DEPTH_MAX {
            let reason = format!("nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed");
            return Err(Invalid::new("data", reason));
        }
        Ok(())
    }

    /// Refuses an empty or overlong batch, and any event [`NewEvent::check`] refuses.
    pub fn check_batch(events: &[Self]) -> Result<(), Invalid> {
        if events.is_empty() || events.len() > APPEND_EVENTS_MAX {
            let reason = format!("{}, 1 to {APPEND_EVENTS_MAX} are allowed", events.len());
            return Err(Invalid::new("number of events", reason));
        }
        events.iter().try_for_each(Self::check)?;
        let bytes: usize = events.iter().map(|event| event.data.as_str().len()).sum();
        if bytes > APPEND_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {APPEND_BYTES_MAX} are allowed");
            return Err(Invalid::new("batch", reason));
        }
        Ok(())
    }
}

/// What an append did. Its answer is given only after the events are durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Appended {
    /// The session.
    pub session_id: SessionId,
    /// Lowest seq that holds one of the given events.
    pub first_seq: u64,
    /// Highest seq that holds one of the given events.
    pub last_seq: u64,
    /// How many were new.
    pub appended: u64,
    /// How many were there already, by their key.
    pub duplicates: u64,
    /// Secrets that were taken out of the given events, by rule.
    #[serde(default, skip_serializing_if = "Redactions::is_empty")]
    pub redacted: Redactions,
}

/// From which end a session's log is read. The events of a page are in ascending order either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// The first events after [`EventQuery::after`].
    #[default]
    Oldest,
    /// The last events of the log.
    Newest,
}

/// Which events of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events with a higher seq.
    pub after: u64,
    /// Only events up to this seq, itself included.
    pub up_to: Option<u64>,
    /// Only these types; all when empty.
    pub types: Vec<String>,
    /// Where to start reading.
    pub order: Order,
    /// How many at most.
    pub limit: PageLimit,
}

impl EventQuery {
    /// Refuses too many types.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.types.len() > FILTER_TYPES_MAX {
            let reason = format!("{}, at most {FILTER_TYPES_MAX} are allowed", self.types.len());
            return Err(Invalid::new("number of types", reason));
        }
        Ok(())
    }
}
