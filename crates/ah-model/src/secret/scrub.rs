//! Scrubbing: secrets that were stored before there was a redactor, or without one, taken out in
//! bounded steps.
//!
//! A step goes through some rows of one place and says where the next one goes on. Doing a step again
//! changes nothing more, so a scrub that was killed is begun again.

use serde::{Deserialize, Serialize};

use super::Redactions;
use crate::word::words;
use crate::{Receipt, SessionId, Timestamp};

words!(
    /// What a scrub goes through, in this order.
    ScrubPlace, "place",
    {
        /// Payloads of events.
        Events = "events",
        /// Prompts of tasks.
        Tasks = "tasks",
        /// Titles, reset messages and reasons of sessions.
        Sessions = "sessions",
        /// Parameters, errors and results of runs.
        Runs = "runs",
        /// Errors and results that are told to parents.
        Callbacks = "callbacks",
        /// Bodies and notes of messages.
        Messages = "messages",
        /// Reasons, details, notes and problems of approvals.
        Approvals = "approvals",
        /// Questions, their options and answers.
        Questions = "questions",
        /// Descriptions of drafts.
        Drafts = "drafts",
        /// Descriptors, permissions, statistics and metadata of agents.
        Agents = "agents",
        /// Answers that are kept for requests with a key.
        Answers = "answers",
        /// The index of search: words of what was changed leave it.
        Index = "index",
        /// The file: bytes that nothing uses any more leave it.
        File = "file",
    }
);

impl ScrubPlace {
    /// The place after this one; none after the last.
    pub fn next(self) -> Option<Self> {
        let at = Self::ALL.iter().position(|place| *place == self)?;
        Self::ALL.get(at + 1).copied()
    }

    /// Whether what is there belongs to sessions.
    pub fn is_of_sessions(self) -> bool {
        matches!(self, Self::Events | Self::Tasks | Self::Sessions | Self::Runs | Self::Callbacks)
    }

    /// Whether rows with texts are there.
    pub fn has_rows(self) -> bool {
        !matches!(self, Self::Index | Self::File)
    }
}

/// Where a scrub goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScrubCursor {
    /// In which place.
    pub place: ScrubPlace,
    /// Behind which row; at the first when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// One step of a scrub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scrub {
    /// Only what belongs to this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Only what was written at this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only says what is there; changes nothing and leaves no receipt.
    #[serde(default)]
    pub dry_run: bool,
    /// Where to go on; at the beginning when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ScrubCursor>,
}

impl Scrub {
    /// Where this step begins.
    pub fn start(&self) -> ScrubCursor {
        let first = ScrubCursor { place: ScrubPlace::Events, after: None };
        self.from.clone().unwrap_or(first)
    }

    /// Where the step behind the end of `place` begins; none when there is no such place.
    pub fn behind(&self, place: ScrubPlace) -> Option<ScrubCursor> {
        let mut next = place.next();
        while let Some(place) = next {
            let is_wanted = match place.has_rows() {
                true => self.session_id.is_none() || place.is_of_sessions(),
                false => !self.dry_run,
            };
            if is_wanted {
                return Some(ScrubCursor { place, after: None });
            }
            next = place.next();
        }
        None
    }
}

/// A secret that a scrub found; never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScrubFinding {
    /// What it is in.
    pub place: ScrubPlace,
    /// The id of that; `SESSION#SEQ` of an event.
    pub id: String,
    /// Where in it, as a JSON pointer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The rule that found it.
    pub rule: String,
    /// How many.
    pub count: u64,
}

/// What a step of a scrub did, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ScrubStep {
    /// Which place it went through.
    pub place: ScrubPlace,
    /// How many rows it looked at.
    pub rows: u64,
    /// How many of them held secrets.
    pub changed: u64,
    /// The secrets, by rule.
    pub found: Redactions,
    /// Where they are, the first [`crate::limits::SCRUB_FINDINGS_MAX`].
    pub findings: Vec<ScrubFinding>,
    /// Everything that was changed so far; absent in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Where to go on; absent behind the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ScrubCursor>,
}
