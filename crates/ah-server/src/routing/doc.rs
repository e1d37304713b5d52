//! What is said of a route that its handler's arguments do not tell.

use axum::http::StatusCode;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Param;

/// The schema of a type, told to a generator that keeps what it refers to.
pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The description of a route.
pub(crate) struct Doc {
    pub(crate) summary: &'static str,
    pub(crate) query: Vec<Param>,
    pub(crate) status: StatusCode,
    pub(crate) answers: Answers,
    /// Whether it also answers with a stream of events, to who asks for one.
    pub(crate) streams: bool,
    /// The refusals of the store behind it; all others follow from what arrives.
    pub(crate) fails: Vec<StatusCode>,
}

/// The body of a success.
pub(crate) enum Answers {
    Nothing,
    Json(SchemaOf),
    /// Text of that media type.
    Text(&'static str),
}

/// A route that does what `summary` says, as the beginning of a description.
pub(crate) fn doc(summary: &'static str) -> Doc {
    Doc {
        summary,
        query: Vec::new(),
        status: StatusCode::NO_CONTENT,
        answers: Answers::Nothing,
        streams: false,
        fails: Vec::new(),
    }
}

impl Doc {
    /// It answers with a `T`.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16) -> Self {
        let answers = Answers::Json(|schemas| schemas.subschema_for::<T>());
        Self { status: code(status), answers, ..self }
    }

    /// It answers 200 with a text.
    pub(crate) fn answers_text(self, media_type: &'static str) -> Self {
        Self { status: StatusCode::OK, answers: Answers::Text(media_type), ..self }
    }

    /// It reads these of the query.
    pub(crate) fn query(mut self, params: impl IntoIterator<Item = Param>) -> Self {
        self.query.extend(params);
        self
    }

    /// It streams events to a client that accepts `text/event-stream`. A browser can send no header
    /// with that, so the token may be in the query.
    pub(crate) fn streams(self) -> Self {
        Self { streams: true, ..self }
    }

    /// The store may refuse it with one of these.
    pub(crate) fn fails<const N: usize>(mut self, statuses: [u16; N]) -> Self {
        self.fails.extend(statuses.map(code));
        self
    }
}

/// The routes name statuses by number; one that is none is a mistake that shows in every test.
fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
