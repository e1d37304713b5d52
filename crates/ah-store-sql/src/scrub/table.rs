//! Where texts are: the tables and columns that a scrub goes through.

use ah_model::{ScrubPlace, redact};

/// A table with texts.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// What its rows are known by and gone through in the order of.
    pub(super) key: Key,
    /// What people know a row by.
    pub(super) id: &'static str,
    /// The session that a row belongs to.
    pub(super) session: Option<&'static str>,
    /// When a row was written.
    pub(super) time: &'static str,
    pub(super) columns: &'static [TextColumn],
}

/// A column that tells rows apart.
#[derive(Clone, Copy)]
pub(super) enum Key {
    Number(&'static str),
    Text(&'static str),
}

impl Key {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Number(name) | Self::Text(name) => name,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum TextColumn {
    Plain(&'static str),
    Json(&'static str),
}

impl TextColumn {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain(name) | Self::Json(name) => name,
        }
    }

    /// What of `text` is a secret. JSON that cannot be read is text.
    pub(super) fn redact(self, text: &str) -> redact::Redacted<'_> {
        match self {
            Self::Plain(_) => redact::text(text),
            Self::Json(_) => redact::json(text).unwrap_or_else(|_| redact::text(text)),
        }
    }
}

use Key::{Number, Text};
use TextColumn::{Json, Plain};

pub(super) const EVENTS: Table = Table {
    name: "events",
    key: Number("id"),
    id: "session_id || '#' || CAST(seq AS text)",
    session: Some("session_id"),
    time: "ts",
    columns: &[Json("data")],
};

const TASKS: Table = Table {
    name: "tasks",
    key: Number("id"),
    id: "CAST(id AS text)",
    session: Some("session_id"),
    time: "created_at",
    columns: &[Plain("prompt")],
};

const SESSIONS: Table = Table {
    name: "sessions",
    key: Text("id"),
    id: "id",
    session: Some("id"),
    time: "last_activity_at",
    columns: &[Plain("title"), Plain("reset_message"), Plain("exit_reason")],
};

const RUNS: Table = Table {
    name: "runs",
    key: Number("number"),
    id: "id",
    session: Some("session_id"),
    time: "created_at",
    columns: &[Json("parameters"), Plain("error"), Json("result")],
};

const CALLBACKS: Table = Table {
    name: "callbacks",
    key: Text("run_id"),
    id: "run_id",
    session: Some("parent_session_id"),
    time: "created_at",
    columns: &[Plain("error"), Json("result")],
};

const MESSAGES: Table = Table {
    name: "messages",
    key: Number("number"),
    id: "id",
    session: None,
    time: "sent_at",
    columns: &[Plain("body"), Plain("note")],
};

const APPROVALS: Table = Table {
    name: "approvals",
    key: Number("number"),
    id: "id",
    session: None,
    time: "requested_at",
    columns: &[Plain("reason"), Json("details"), Plain("note"), Plain("problem")],
};

const QUESTIONS: Table = Table {
    name: "questions",
    key: Number("number"),
    id: "id",
    session: None,
    time: "asked_at",
    columns: &[Plain("question"), Json("options"), Json("answer"), Json("late_answer")],
};

const DRAFTS: Table = Table {
    name: "drafts",
    key: Text("id"),
    id: "id",
    session: None,
    time: "updated_at",
    columns: &[Plain("description"), Plain("repository")],
};

const AGENTS: Table = Table {
    name: "agent_instances",
    key: Text("id"),
    id: "id",
    session: None,
    time: "updated_at",
    columns: &[
        Json("descriptor"),
        Json("permissions"),
        Json("tokens"),
        Json("stats"),
        Json("metadata"),
    ],
};

const ANSWERS: Table = Table {
    name: "request_keys",
    key: Text("k"),
    id: "k",
    session: None,
    time: "created_at",
    columns: &[Json("answer")],
};

/// The table of a place; the index and the file have none.
pub(super) fn of(place: ScrubPlace) -> Option<&'static Table> {
    match place {
        ScrubPlace::Events => Some(&EVENTS),
        ScrubPlace::Tasks => Some(&TASKS),
        ScrubPlace::Sessions => Some(&SESSIONS),
        ScrubPlace::Runs => Some(&RUNS),
        ScrubPlace::Callbacks => Some(&CALLBACKS),
        ScrubPlace::Messages => Some(&MESSAGES),
        ScrubPlace::Approvals => Some(&APPROVALS),
        ScrubPlace::Questions => Some(&QUESTIONS),
        ScrubPlace::Drafts => Some(&DRAFTS),
        ScrubPlace::Agents => Some(&AGENTS),
        ScrubPlace::Answers => Some(&ANSWERS),
        ScrubPlace::Index | ScrubPlace::File => None,
    }
}
