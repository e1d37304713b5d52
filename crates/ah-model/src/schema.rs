//! Schemas of the values that serde reads from a text of their own. What they say is what the
//! parsers take, because requests are generated from them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::limits::{
    AGENT_NAME_BYTES_MAX, AGENT_TYPE_BYTES_MAX, EXECUTOR_ID_BYTES_MAX, ID_BYTES_MAX,
};
use crate::{
    AgentId, AgentType, ApprovalId, BatchId, Cursor, Day, DraftId, ExecutorId, FeedCursor, FenceId,
    MemberName, MessageId, OutboxId, Party, QuestionId, RawJson, ReceiptId, RequestId, RunId,
    SessionId, Timestamp, TokenHash, TokenId,
};

macro_rules! text_schema {
    ($name:ident, $description:literal, { $($rule:tt)* }) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "description": $description, $($rule)* })
            }
        }
    };
}

macro_rules! id_schema {
    ($($name:ident),*) => {$(
        text_schema!($name, "Printable text that needs no escaping in a path; minted ids are UUIDv7", {
            "pattern": "^[A-Za-z0-9._~!$&'()*+,;=:@-]+$",
            "minLength": 1,
            "maxLength": ID_BYTES_MAX,
            "not": { "enum": [".", ".."] },
        });
    )*};
}

id_schema!(
    AgentId, ApprovalId, BatchId, DraftId, FenceId, MemberName, MessageId, OutboxId, QuestionId,
    ReceiptId, RequestId, RunId, SessionId, TokenId
);

text_schema!(Party, "`operator`, or the name of an agent", {
    "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
    "minLength": 1,
    "maxLength": AGENT_NAME_BYTES_MAX,
});

text_schema!(ExecutorId, "Visible ASCII characters, such as a SPIFFE ID", {
    "pattern": "^[!-~]+$",
    "minLength": 1,
    "maxLength": EXECUTOR_ID_BYTES_MAX,
});

text_schema!(AgentType, "user, cron, system, subagent, app, permanent, or another word", {
    "pattern": "^[A-Za-z0-9_-]+$",
    "minLength": 1,
    "maxLength": AGENT_TYPE_BYTES_MAX,
});

text_schema!(Timestamp, "RFC 3339; answers are in UTC with milliseconds", {
    "format": "date-time",
});

text_schema!(Day, "A day in UTC, such as 2026-01-31", {
    "format": "date",
});

text_schema!(TokenHash, "The SHA-256 of a token, in hexadecimal", {
    "pattern": "^[0-9a-fA-F]{64}$",
    "minLength": 64,
    "maxLength": 64,
});

text_schema!(Cursor, "Where a page ended; opaque, from an answer of the same list", {
    "pattern": "^(61|6e|74)([0-9a-f]{2})*$",
});

text_schema!(FeedCursor, "A place in the feed; opaque, from an answer of the feed", {
    "pattern": "^[0-9]{1,18}-[0-9]{1,18}$",
});

impl JsonSchema for RawJson {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Json".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON value; it is kept as it is written" })
    }
}
