//! Runs: one execution of a session by somebody, leased to its holder.
//!
//! Invariant: a session has at most one live run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Invalid, RawJson, RunId, SessionId, Timestamp};

/// Whether the session begins or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// The first run of a session.
    Start,
    /// A later one.
    Resume,
}

impl RunKind {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Resume => "resume",
        }
    }
}

impl FromStr for RunKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "start" => Ok(Self::Start),
            "resume" => Ok(Self::Resume),
            _ => Err(Invalid::new("run kind", format!("{text:?} is none of start, resume"))),
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Nobody has taken it.
    Pending,
    /// Leased, not started.
    Claimed,
    /// At work.
    Running,
    /// Asked to stop.
    Stopping,
    /// Ended well.
    Completed,
    /// Ended badly, or lost.
    Failed,
    /// Ended on request.
    Stopped,
}

impl RunStatus {
    /// Every status, in the order of a run's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Stopping,
        Self::Completed,
        Self::Failed,
        Self::Stopped,
    ];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether somebody still has, or may take, the run.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Claimed | Self::Running | Self::Stopping)
    }
}

impl FromStr for RunStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| Invalid::new("run status", format!("{text:?} is unknown")))
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A run to queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRun {
    /// The session to execute.
    pub session_id: SessionId,
    /// Begin or go on.
    pub kind: RunKind,
    /// What the executor is told.
    pub parameters: RawJson,
    /// What the executor must offer.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub demands: Option<RawJson>,
}

/// A run the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The session it executes.
    pub session_id: SessionId,
    /// Begin or go on.
    pub kind: RunKind,
    /// Where it stands.
    pub status: RunStatus,
    /// What the executor is told.
    pub parameters: RawJson,
    /// What the executor must offer.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub demands: Option<RawJson>,
    /// Who holds it.
    pub executor_id: Option<String>,
    /// Rises with every claim; a holder with an older one is refused.
    pub lease_epoch: u64,
    /// When the holder must have renewed.
    pub lease_expires_at: Option<Timestamp>,
    /// When somebody asked it to stop.
    pub stop_requested_at: Option<Timestamp>,
    /// How the parent waits.
    pub execution_mode: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it gave back.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<RawJson>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it was last claimed.
    pub claimed_at: Option<Timestamp>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}
