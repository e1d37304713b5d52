//! Answers as JSON.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Failure;

/// What a handler gives back.
pub(crate) type Answer = Result<Response, Failure>;

/// Items that are not paged by a cursor.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Items")]
pub(crate) struct Items<T> {
    /// All of them.
    pub(crate) items: Vec<T>,
}

/// 200 with `value`.
pub(crate) fn ok(value: &impl Serialize) -> Answer {
    json(StatusCode::OK, value)
}

/// 201 with `value`.
pub(crate) fn created(value: &impl Serialize) -> Answer {
    json(StatusCode::CREATED, value)
}

/// 204.
pub(crate) fn no_content() -> Answer {
    Ok(StatusCode::NO_CONTENT.into_response())
}

pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let body = serde_json::to_vec(value).map_err(|error| Failure::internal(error.to_string()))?;
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    Ok(response)
}
