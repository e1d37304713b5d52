//! What a request holds, with the coordinator's own refusals.

use ah_model::{ExecutorId, RawJson, RunId, SessionId};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error};

use super::detail::Detail;
use crate::extract::{JsonBody, Pairs, Share};
use crate::limits::BODY_BYTES_MAX;
use crate::state::ServerState;

/// A body of at most `MAX` bytes, and its share of the memory for bodies.
pub(super) struct Given<T, const MAX: usize = BODY_BYTES_MAX>(pub(super) T, pub(super) Share);

impl<T, const MAX: usize> FromRequest<ServerState> for Given<T, MAX>
where
    T: DeserializeOwned + Send + 'static,
{
    type Rejection = Detail;

    async fn from_request(request: Request, state: &ServerState) -> Result<Self, Detail> {
        let JsonBody(value, share) = JsonBody::<T, MAX>::from_request(request, state).await?;
        Ok(Self(value, share))
    }
}

/// Reads a part that must be an object: serde would take the fields of one from a list, too.
pub(super) fn object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Some(part) = Option::<RawJson>::deserialize(deserializer)? else { return Ok(None) };
    if !part.as_str().starts_with('{') {
        return Err(D::Error::custom("must be a JSON object"));
    }
    part.read().map(Some).map_err(D::Error::custom)
}

/// Reads a body that is also kept as it was sent.
pub(super) fn read_as<T: DeserializeOwned>(body: &RawJson) -> Result<T, Detail> {
    body.read().map_err(|error| Detail::misfit(&error.to_string()))
}

/// The parts of the address behind `?`.
pub(super) struct Asked(pub(super) Pairs);

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Detail;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Detail> {
        Ok(Self(Pairs::from_request_parts(parts, state).await?))
    }
}

impl Asked {
    /// A word that means yes or no, as the original reads it.
    pub(super) fn flag(&self, name: &'static str, otherwise: bool) -> Result<bool, Detail> {
        let Some(word) = self.0.get(name) else { return Ok(otherwise) };
        match word.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" | "y" | "t" => Ok(true),
            "false" | "0" | "no" | "off" | "n" | "f" => Ok(false),
            _ => Err(Detail::invalid(&["query", name], "bool_parsing", "neither true nor false")),
        }
    }

    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, Detail> {
        let wrong = |_| Detail::invalid(&["query", name], "int_parsing", "not a whole number");
        self.0.get(name).map(|text| text.parse().map_err(wrong)).transpose()
    }
}

/// The one text in the path.
struct PathText(String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ();

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ()> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.map(|Path(text)| Self(text)).map_err(drop)
    }
}

/// Reads something from the path; what no such thing can be named is not found.
macro_rules! from_path {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $refusal:expr) => {
        $(#[$doc])*
        pub(super) struct $name(pub(super) $inner);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Detail;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Detail> {
                let text = PathText::from_request_parts(parts, state).await;
                let id = text.ok().and_then(|PathText(text)| text.parse().ok());
                id.map(Self).ok_or_else(|| $refusal)
            }
        }
    };
}

from_path!(
    /// The session in the path.
    PathSession, SessionId, Detail::session_not_found()
);
from_path!(
    /// The run in the path.
    PathRun, RunId, Detail::run_not_found()
);
from_path!(
    /// The runner in the path.
    PathRunner, ExecutorId, Detail::text(404, "Runner not found")
);
from_path!(
    /// The name in the path.
    PathName, String, Detail::text(404, "Agent not found")
);
