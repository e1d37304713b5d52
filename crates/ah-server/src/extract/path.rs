//! Ids and numbers in the path.

use std::str::FromStr;

use ah_model::Invalid;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;

use crate::problem::Failure;

/// The one id in the path.
pub(crate) struct PathId<T>(pub(crate) T);

impl<T, S> FromRequestParts<S> for PathId<T>
where
    T: FromStr<Err = Invalid>,
    S: Send + Sync,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(path_text(parts, state).await?.parse()?))
    }
}

/// The one number in the path.
pub(crate) struct PathNumber(pub(crate) i64);

impl<S: Send + Sync> FromRequestParts<S> for PathNumber {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let text = path_text(parts, state).await?;
        let number = text.parse();
        number.map(Self).map_err(|_| Failure::invalid("id", format!("{text:?} is not a number")))
    }
}

/// The one part of the path that is not fixed.
pub(crate) async fn path_text<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<String, Failure> {
    let path = Path::<String>::from_request_parts(parts, state).await;
    path.map(|Path(text)| text).map_err(|error| Failure::invalid("id", error.to_string()))
}
