//! Failures on their way out: always a problem, always `application/problem+json`.

use ah_model::Invalid;
use ah_store::{Problem, StoreError};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The media type of every error.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Why a request is not answered as asked. Boxed, because most are answered.
#[derive(Debug)]
pub(crate) struct Failure(Box<Problem>);

impl Failure {
    pub(crate) fn new(code: &str, title: &str, status: u16, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(code, title, status, detail)))
    }

    pub(crate) fn invalid(field: &'static str, reason: impl Into<String>) -> Self {
        Invalid::new(field, reason).into()
    }

    /// Something of ours broke.
    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new("internal", "the server made a mistake", 500, detail)
    }

    /// The same with another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status.as_u16();
        self
    }

    pub(crate) fn problem(&self) -> &Problem {
        &self.0
    }
}

/// The code of a problem beside its answer, for the line of the log.
#[derive(Clone)]
pub(crate) struct Code(pub(crate) String);

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(Box::new(Problem::from(&error)))
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        StoreError::from(invalid).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        // A problem is texts and numbers: it serialises.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(header::CONTENT_TYPE, PROBLEM_JSON);
        response.extensions_mut().insert(Code(self.0.code));
        if self.0.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        if let Some(ms) = self.0.retry_after_ms {
            response.headers_mut().insert(header::RETRY_AFTER, ms.div_ceil(1_000).into());
        }
        response
    }
}
