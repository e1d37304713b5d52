//! The feed: everything that happens in a store, in one order per kind of thing, from a cursor on.
//!
//! Events come in the order in which they were committed, and so do changes of sessions and runs; a
//! cursor is the place in both. Who goes on from a cursor misses nothing that came after it, or is told
//! that changes after it are no longer kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Event, ExecutorId, Invalid, Party, RunId, SessionId, Timestamp};

/// A place in the feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FeedCursor {
    /// The number of the last event before it.
    pub event: u64,
    /// The number of the last change before it.
    pub change: u64,
}

impl fmt::Display for FeedCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.event, self.change)
    }
}

impl FromStr for FeedCursor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = |part: &str| part.parse::<i64>().ok().and_then(|n| u64::try_from(n).ok());
        text.split_once('-')
            .and_then(|(event, change)| {
                Some(Self { event: number(event)?, change: number(change)? })
            })
            .ok_or_else(|| Invalid::new("cursor", format!("{text:?} is not a place in the feed")))
    }
}

impl TryFrom<String> for FeedCursor {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<FeedCursor> for String {
    fn from(cursor: FeedCursor) -> Self {
        cursor.to_string()
    }
}

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A session is new.
    SessionCreated,
    /// A session's row is not what it was, events aside.
    SessionUpdated,
    /// A session is gone.
    SessionDeleted,
    /// A run waits for somebody to take it: a new one, or one that is queued again.
    RunQueued,
    /// A run was taken, began, or ended.
    RunUpdated,
    /// The holder of a run is asked to stop it.
    RunStopping,
    /// An executor was registered, or asked to go.
    ExecutorUpdated,
    /// An agent is new, other, or gone; events of its sessions aside.
    AgentUpdated,
    /// A message waits to be received.
    MessageQueued,
    /// A message was acknowledged or given up.
    MessageUpdated,
    /// An approval was asked for, decided, or carried out.
    ApprovalUpdated,
    /// A question was asked, answered, withdrawn, or has expired.
    QuestionUpdated,
    /// The fleet of a session was formed, changed, or ended.
    FleetUpdated,
    /// A fence of a session's fleet began, heard somebody, or ended.
    FenceUpdated,
    /// A repository is at another path than before.
    RepoMoved,
    /// Changes up to this one are no longer kept, and whoever reads this has missed some: what they
    /// told of is to be read anew. It is about nothing; its time is that of the last of them.
    ChangesTrimmed,
}

impl ChangeKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::SessionCreated,
        Self::SessionUpdated,
        Self::SessionDeleted,
        Self::RunQueued,
        Self::RunUpdated,
        Self::RunStopping,
        Self::ExecutorUpdated,
        Self::AgentUpdated,
        Self::MessageQueued,
        Self::MessageUpdated,
        Self::ApprovalUpdated,
        Self::QuestionUpdated,
        Self::FleetUpdated,
        Self::FenceUpdated,
        Self::RepoMoved,
        Self::ChangesTrimmed,
    ];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionCreated => "session-created",
            Self::SessionUpdated => "session-updated",
            Self::SessionDeleted => "session-deleted",
            Self::RunQueued => "run-queued",
            Self::RunUpdated => "run-updated",
            Self::RunStopping => "run-stopping",
            Self::ExecutorUpdated => "executor-updated",
            Self::AgentUpdated => "agent-updated",
            Self::MessageQueued => "message-queued",
            Self::MessageUpdated => "message-updated",
            Self::ApprovalUpdated => "approval-updated",
            Self::QuestionUpdated => "question-updated",
            Self::FleetUpdated => "fleet-updated",
            Self::FenceUpdated => "fence-updated",
            Self::RepoMoved => "repo-moved",
            Self::ChangesTrimmed => "changes-trimmed",
        }
    }
}

impl FromStr for ChangeKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| Invalid::new("change", format!("{text:?} is unknown")))
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A change of something that is not an event. It names the thing; who wants its state reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What changed.
    pub kind: ChangeKind,
    /// The session, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The run, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The executor, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executor_id: Option<ExecutorId>,
    /// Whom it concerns most: the recipient of a message, the agent of an approval, who asked a
    /// question, the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub party: Option<Party>,
    /// The id of the message, approval or question, or the number of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// An event was appended.
    Event(Event),
    /// Something else changed.
    Change(Change),
}

impl Happening {
    /// Whether it says that what came before is no longer kept, which concerns every reader.
    pub fn is_trimmed(&self) -> bool {
        matches!(self, Self::Change(change) if change.kind == ChangeKind::ChangesTrimmed)
    }

    /// The session it is about.
    pub fn session_id(&self) -> Option<&SessionId> {
        match self {
            Self::Event(event) => Some(&event.session_id),
            Self::Change(change) => change.session_id.as_ref(),
        }
    }
}

/// An entry of the feed: `{cursor, event}` or `{cursor, change}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Wire", into = "Wire")]
pub struct FeedEntry {
    /// The place behind it.
    pub cursor: FeedCursor,
    /// What happened.
    pub happening: Happening,
}

/// Flattening an enum would lose the raw JSON of events, so the form is spelt out.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Wire {
    cursor: FeedCursor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
}

impl TryFrom<Wire> for FeedEntry {
    type Error = Invalid;

    fn try_from(wire: Wire) -> Result<Self, Invalid> {
        let happening = match (wire.event, wire.change) {
            (Some(event), None) => Happening::Event(event),
            (None, Some(change)) => Happening::Change(change),
            _ => return Err(Invalid::new("entry", "either an event or a change")),
        };
        Ok(Self { cursor: wire.cursor, happening })
    }
}

impl From<FeedEntry> for Wire {
    fn from(entry: FeedEntry) -> Self {
        let FeedEntry { cursor, happening } = entry;
        match happening {
            Happening::Event(event) => Self { cursor, event: Some(event), change: None },
            Happening::Change(change) => Self { cursor, event: None, change: Some(change) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back_with_their_exact_payload() {
        let event = r#"{"sessionId":"s","seq":1,"ts":"2026-01-02T03:04:05.678Z","type":"t","data":{"n":1.00}}"#;
        let change =
            r#"{"kind":"run-queued","sessionId":"s","runId":"r","at":"2026-01-02T03:04:05.678Z"}"#;
        for json in [
            format!(r#"{{"cursor":"3-4","event":{event}}}"#),
            format!(r#"{{"cursor":"3-4","change":{change}}}"#),
        ] {
            let entry: FeedEntry = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&entry).unwrap(), json);
        }
    }

    #[test]
    fn cursors_read_back_and_nonsense_is_refused() {
        let cursor = FeedCursor { event: 12, change: 5 };
        assert_eq!(cursor.to_string(), "12-5");
        assert_eq!("12-5".parse(), Ok(cursor));
        for bad in ["", "12", "a-1", "1-", "-1-2", "1-2-3", "99999999999999999999-1"] {
            assert!(bad.parse::<FeedCursor>().is_err(), "{bad}");
        }
    }
}
