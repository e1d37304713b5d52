//! Errors as the coordinator's clients read them: `{"detail": …}`.

use ah_model::Invalid;
use ah_store::{Kind, Problem, StoreError};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::problem::Failure;
use crate::{answer, idempotency};

/// What a handler gives back.
pub(super) type Answer = Result<Response, Detail>;

/// Why a request is not answered as asked. Boxed, because most are answered.
#[derive(Debug)]
pub(super) struct Detail(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: u16,
    detail: Value,
    retry_after_ms: Option<u64>,
}

impl Detail {
    pub(super) fn new(status: u16, detail: Value) -> Self {
        Self(Box::new(Parts { status, detail, retry_after_ms: None }))
    }

    /// A sentence.
    pub(super) fn text(status: u16, text: impl Into<String>) -> Self {
        Self::new(status, Value::String(text.into()))
    }

    pub(super) fn session_not_found() -> Self {
        Self::text(404, "Session not found")
    }

    pub(super) fn run_not_found() -> Self {
        Self::text(404, "Run not found")
    }

    pub(super) fn runner_not_registered() -> Self {
        Self::text(401, "Runner not registered")
    }

    /// A value that breaks a rule, at the place `at` of the request.
    pub(super) fn invalid(at: &[&str], kind: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        Self::new(422, json!([{ "type": kind, "loc": at, "msg": message }]))
    }

    /// What serde says of a body that is not what was asked for.
    pub(super) fn misfit(text: &str) -> Self {
        let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        match missing {
            Some((name, _)) => Self::invalid(&["body", name], "missing", "Field required"),
            None => Self::invalid(&["body"], "value_error", text),
        }
    }

    /// The same for a runner that is named in the path rather than asking itself.
    pub(super) fn or_runner_not_found(self) -> Self {
        match self.0.status {
            401 => Self::text(404, "Runner not found"),
            _ => self,
        }
    }
}

impl From<&Problem> for Detail {
    fn from(problem: &Problem) -> Self {
        let detail = match (problem.code.as_str(), problem.kind) {
            ("not-found", Some(Kind::Session)) => Self::session_not_found(),
            ("not-found", Some(Kind::Run)) => Self::run_not_found(),
            ("not-found", Some(Kind::Executor)) => Self::runner_not_registered(),
            ("bad-json", _) => Self::invalid(&["body"], "json_invalid", &problem.detail),
            ("invalid", _) => {
                let field = problem.field.as_deref().unwrap_or("body");
                let reason = problem.reason.as_deref().unwrap_or(&problem.detail);
                match field {
                    idempotency::FIELD => {
                        Self::invalid(&["header", "idempotency-key"], "value_error", reason)
                    }
                    "body" => Self::misfit(reason),
                    _ if reason.starts_with("missing field") => Self::misfit(reason),
                    _ => Self::invalid(&["body", field], "value_error", reason),
                }
            }
            _ => Self::text(problem.status, problem.detail.clone()),
        };
        Self(Box::new(Parts { retry_after_ms: problem.retry_after_ms, ..*detail.0 }))
    }
}

impl From<Failure> for Detail {
    fn from(failure: Failure) -> Self {
        failure.problem().into()
    }
}

impl From<StoreError> for Detail {
    fn from(error: StoreError) -> Self {
        (&Problem::from(&error)).into()
    }
}

impl From<Invalid> for Detail {
    fn from(invalid: Invalid) -> Self {
        StoreError::from(invalid).into()
    }
}

impl IntoResponse for Detail {
    fn into_response(self) -> Response {
        let Parts { status, detail, retry_after_ms } = *self.0;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = answer::json(status, &json!({ "detail": detail })).into_response();
        if let Some(ms) = retry_after_ms {
            response.headers_mut().insert(header::RETRY_AFTER, ms.div_ceil(1_000).into());
        }
        response
    }
}
