//! The parts of queries, as `ah_model::Query` reads them.

use ah_model::limits::{PAGE_ITEMS_MAX, SEARCH_TERMS_MAX};
use ah_model::{
    ApprovalId, ApprovalStatus, BatchId, Cursor, Day, ExecutorId, ExecutorStatus, FeedCursor,
    FleetStatus, Lifecycle, MessageId, MessageStatus, OutboxId, Party, QuestionId, QuestionStatus,
    RunStatus, SessionId, SessionStatus, Timestamp,
};
use schemars::{JsonSchema, json_schema};

use super::SchemaOf;
use crate::limits::{CLAIM_SECONDS_MAX, HIVE_WAIT_MS_MAX, WAIT_SECONDS_MAX};

/// One part of a query.
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) schema: SchemaOf,
    pub(crate) required: bool,
    /// Whether it may be given several times.
    pub(crate) repeated: bool,
}

impl Param {
    /// A part that is read as a `T`.
    pub(crate) fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Self {
        let schema: SchemaOf = |schemas| schemas.subschema_for::<T>();
        Self { name, about, schema, required: false, repeated: false }
    }

    /// Any text.
    pub(crate) fn text(name: &'static str, about: &'static str) -> Self {
        Self::of::<String>(name, about)
    }

    pub(crate) fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(crate) fn repeated(self) -> Self {
        Self { repeated: true, ..self }
    }

    fn with_schema(self, schema: SchemaOf) -> Self {
        Self { schema, ..self }
    }
}

pub(crate) fn limit() -> Param {
    let schema: SchemaOf =
        |_| json_schema!({ "type": "integer", "minimum": 1, "maximum": PAGE_ITEMS_MAX });
    Param::of::<u32>("limit", "How many items at most").with_schema(schema)
}

fn count_from_1(name: &'static str, about: &'static str) -> Param {
    let schema: SchemaOf = |_| json_schema!({ "type": "integer", "minimum": 1 });
    Param::of::<u64>(name, about).with_schema(schema)
}

pub(crate) fn page() -> [Param; 2] {
    [limit(), Param::of::<Cursor>("cursor", "Where the page before ended")]
}

pub(crate) fn order() -> Param {
    let schema: SchemaOf = |_| json_schema!({ "type": "string", "enum": ["oldest", "newest"] });
    Param::text("order", "From which end").with_schema(schema)
}

pub(crate) fn numbered_page() -> [Param; 2] {
    let per_page = Param { name: "perPage", about: "Items on such a page", ..limit() };
    [count_from_1("page", "A page by its number; answers with `pagination`"), per_page]
}

pub(crate) fn sessions() -> [Param; 11] {
    // Words of other vocabularies are understood too, so any text is.
    [
        Param::of::<SessionStatus>("status", "In one of these statuses").repeated(),
        Param::of::<i64>("repoId", "In this repository"),
        Param::of::<i64>("projectId", "The same, as the first API calls it"),
        Param::text("agent", "Of this kind, any version"),
        Param::text("agentVersion", "Of this version of the kind"),
        Param::text("label", "With this label, `key=value`").repeated(),
        Param::of::<Timestamp>("since", "Active at or after"),
        Param::of::<Timestamp>("until", "Active before"),
        Param::text("title", "With this text in the title, in any case of its letters"),
        Param::of::<SessionId>("parent", "Started by this session"),
        Param::of::<SessionId>("forkedFrom", "Forked from this session"),
    ]
}

pub(crate) fn search() -> [Param; 6] {
    // A text without a letter or a digit looks for nothing.
    let words: SchemaOf = |_| {
        json_schema!({
            "type": "string",
            "pattern": "^[A-Za-z0-9]",
            "minLength": 1,
            "maxLength": SEARCH_TERMS_MAX,
        })
    };
    [
        Param::text("q", "Words, \"phrases\", prefixes*, -what must not be there")
            .with_schema(words)
            .required(),
        Param::of::<SessionId>("sessionId", "In this session"),
        Param::of::<i64>("repoId", "In sessions of this repository"),
        Param::text("agent", "In sessions of this kind, any version"),
        Param::of::<Timestamp>("since", "In events of this time or later"),
        Param::text("type", "In events of one of these types").repeated(),
    ]
}

pub(crate) fn agents() -> [Param; 5] {
    [
        Param::of::<Lifecycle>("lifecycle", "In one of these lifecycles").repeated(),
        Param::text("type", "Of this type"),
        Param::text("kind", "Of this kind, any version"),
        Param::text("name", "With this text in the name, in any case of its letters"),
        Param::of::<bool>("destroyed", "Destroyed, so that only what they left is kept; or not"),
    ]
}

pub(crate) fn spendings() -> [Param; 5] {
    [
        Param::of::<Day>("since", "Not before this day"),
        Param::of::<Day>("until", "Not after this day"),
        Param::of::<SessionId>("sessionId", "Of this session"),
        Param::of::<i64>("repoId", "Of sessions of this repository"),
        Param::text("agent", "Of sessions of this agent kind, any version"),
    ]
}

pub(crate) fn tasks() -> [Param; 2] {
    [
        Param::of::<BatchId>("batchId", "Of this request"),
        Param::of::<SessionId>("sessionId", "Of this session"),
    ]
}

pub(crate) fn events() -> [Param; 5] {
    [
        Param::of::<u64>("after", "Only events with a higher seq"),
        Param::of::<u64>("upTo", "Only events up to this seq"),
        Param::text("type", "Only these types").repeated(),
        order(),
        limit(),
    ]
}

pub(crate) fn wait() -> Param {
    let schema: SchemaOf =
        |_| json_schema!({ "type": "integer", "minimum": 0, "maximum": WAIT_SECONDS_MAX });
    Param::of::<u64>("wait", "How many seconds to wait for the first one").with_schema(schema)
}

/// As [`wait`], for a claim.
pub(crate) fn claim_wait() -> Param {
    let schema: SchemaOf =
        |_| json_schema!({ "type": "integer", "minimum": 0, "maximum": CLAIM_SECONDS_MAX });
    wait().with_schema(schema)
}

pub(crate) fn stopped() -> Param {
    let schema: SchemaOf = |_| json_schema!({ "type": "string", "enum": ["session"] });
    Param::text("return", "`session` for the session in place of `accepted`").with_schema(schema)
}

pub(crate) fn seconds() -> Param {
    Param { name: "seconds", about: "How many seconds to wait", ..wait() }
}

pub(crate) fn runs() -> [Param; 3] {
    [
        Param::of::<RunStatus>("status", "In one of these statuses").repeated(),
        Param::of::<SessionId>("sessionId", "Of this session"),
        Param::of::<ExecutorId>("executorId", "Held by this executor, or held last"),
    ]
}

pub(crate) fn fleets() -> Param {
    Param::of::<FleetStatus>("status", "With this status")
}

pub(crate) fn executors() -> [Param; 3] {
    [
        Param::of::<ExecutorStatus>("status", "In one of these statuses").repeated(),
        Param::text("tag", "With this tag, whoever gave it").repeated(),
        Param::text("label", "With this label, `key=value`").repeated(),
    ]
}

pub(crate) fn of_executor() -> Param {
    Param::of::<ExecutorId>("executorId", "Of this executor alone")
}

pub(crate) fn outbox() -> Param {
    Param::of::<OutboxId>("outboxId", "The outbox").required()
}

pub(crate) fn messages() -> [Param; 5] {
    [
        Param::of::<MessageStatus>("status", "In one of these statuses").repeated(),
        Param::of::<Party>("from", "Written by"),
        Param::of::<Party>("to", "Written to"),
        Param::of::<Party>("party", "Written by or to"),
        Param::of::<MessageId>("inReplyTo", "That answer this one"),
    ]
}

pub(crate) fn approvals() -> [Param; 4] {
    [
        Param::of::<ApprovalStatus>("status", "In one of these statuses").repeated(),
        Param::text("agent", "About this agent, by name"),
        Param::text("kind", "Of this kind"),
        Param::of::<bool>("toCarryOut", "Only what is approved and still to be carried out"),
    ]
}

pub(crate) fn questions() -> [Param; 4] {
    [
        Param::of::<QuestionStatus>("status", "In one of these statuses").repeated(),
        Param::of::<Party>("from", "Asked by"),
        Param::of::<Party>("to", "Asked of"),
        Param::of::<Party>("party", "Asked by or of"),
    ]
}

/// What somebody waits for, one of three, and how long.
pub(crate) fn awaited() -> [Param; 4] {
    let schema: SchemaOf =
        |_| json_schema!({ "type": "integer", "minimum": 0, "maximum": HIVE_WAIT_MS_MAX });
    let wait = Param::of::<u64>("waitMs", "How many milliseconds to wait, as long as it may be");
    [
        Param::of::<Party>("mail", "A message that this party can receive"),
        Param::of::<QuestionId>("question", "The end of this question"),
        Param::of::<ApprovalId>("approval", "The decision of this approval"),
        wait.with_schema(schema),
    ]
}

pub(crate) fn feed() -> [Param; 4] {
    [
        Param::of::<FeedCursor>("after", "Only what happened after this place"),
        Param::of::<SessionId>("session", "Only about these sessions").repeated(),
        Param::text("types", "Only events of these types, and these changes").repeated(),
        limit(),
    ]
}

pub(crate) fn tail() -> Param {
    Param { name: "tail", about: "Only so many of the newest", ..limit() }
}

pub(crate) fn origin() -> [Param; 2] {
    [
        Param::text("source", "The tool or store it came from").required(),
        Param::text("externalId", "Its id there").required(),
    ]
}

pub(crate) fn prefix() -> Param {
    Param::text("prefix", "What they begin with").required()
}
