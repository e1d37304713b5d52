//! Errors by what the caller can do next, and the one table that takes them over the wire.

use std::fmt;
use std::time::Duration;

use ah_model::Invalid;
use serde::{Deserialize, Serialize};

/// Any error, as a source.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The things that can be missing or in conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the noun itself")]
pub enum Kind {
    Agent,
    AgentKind,
    Approval,
    Draft,
    Executor,
    Fence,
    Fleet,
    Key,
    Message,
    Question,
    Receipt,
    Repo,
    Run,
    Session,
    Task,
    Token,
    Workspace,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::AgentKind => "agent kind",
            Self::Approval => "approval",
            Self::Draft => "draft",
            Self::Executor => "executor",
            Self::Fence => "fence",
            Self::Fleet => "fleet",
            Self::Key => "key",
            Self::Message => "message",
            Self::Question => "question",
            Self::Receipt => "receipt",
            Self::Repo => "repo",
            Self::Run => "run",
            Self::Session => "session",
            Self::Task => "task",
            Self::Token => "token",
            Self::Workspace => "workspace",
        })
    }
}

/// What some stores do not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Named workspaces.
    Workspaces,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Workspaces => "workspaces",
        })
    }
}

/// What a refusal is called.
const FORBIDDEN: &str = "not allowed";

/// What went wrong, told by what the caller can do now.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Name something that exists.
    #[error("{kind} {id} not found")]
    NotFound {
        /// What was looked for.
        kind: Kind,
        /// Under which name.
        id: String,
    },
    /// Look again: the thing is not in a state that allows this.
    #[error("{kind} {id}: {reason}")]
    Conflict {
        /// What refused.
        kind: Kind,
        /// Its name.
        id: String,
        /// Why, as the end of a sentence about it.
        reason: String,
    },
    /// Correct the value.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Use another store.
    #[error("this store has no {feature}")]
    Unsupported {
        /// What is missing.
        feature: Feature,
    },
    /// Try again later.
    #[error("the store is busy")]
    Busy {
        /// When it is worth trying.
        retry_after: Duration,
    },
    /// Start the server, or name another.
    #[error("cannot reach {server}")]
    Unreachable {
        /// What was called.
        server: String,
        /// What the network said.
        #[source]
        source: BoxError,
    },
    /// Bring a token.
    #[error("not signed in")]
    Unauthorized,
    /// Ask somebody who may.
    #[error("not allowed{}", tail(reason.as_deref()))]
    Forbidden {
        /// Why, if it was said.
        reason: Option<String>,
    },
    /// Use a newer program: this one writes nothing there.
    #[error("{what} has schema version {found}, this program knows up to {supported}")]
    Newer {
        /// The database.
        what: String,
        /// Its version.
        found: i64,
        /// The newest version this program knows.
        supported: i64,
    },
    /// Repair or restore it.
    #[error("{what} is damaged")]
    Corrupt {
        /// What cannot be read.
        what: String,
        /// What the engine said.
        #[source]
        source: BoxError,
    },
    /// See the source: the machine, not the request.
    #[error("cannot {operation}")]
    Backend {
        /// What was being done.
        operation: String,
        /// What the engine said.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    /// Nothing of that name.
    pub fn not_found(kind: Kind, id: impl fmt::Display) -> Self {
        Self::NotFound { kind, id: id.to_string() }
    }

    /// The thing refuses, for `reason`.
    pub fn conflict(kind: Kind, id: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::Conflict { kind, id: id.to_string(), reason: reason.into() }
    }

    /// The machine under the store refuses.
    pub fn backend(operation: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Backend { operation: operation.into(), source: source.into() }
    }

    /// Stored bytes that cannot be read.
    pub fn corrupt(what: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Corrupt { what: what.into(), source: source.into() }
    }
}

/// An RFC 9457 problem: the wire form of a [`StoreError`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Stable word for the kind of problem.
    pub code: String,
    /// One line for people.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// The whole message with its causes.
    pub detail: String,
    /// The kind of thing meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The field to correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What the store does not have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<Feature>,
    /// When it is worth trying again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl Problem {
    /// A problem with only the parts every problem has.
    pub fn new(code: &str, title: &str, status: u16, detail: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            kind: None,
            id: None,
            field: None,
            reason: None,
            feature: None,
            retry_after_ms: None,
        }
    }
}

/// A reason behind what it is for.
fn tail(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}

/// The message of `error` followed by those of its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<&StoreError> for Problem {
    fn from(error: &StoreError) -> Self {
        let new = |code, title, status| Self::new(code, title, status, chain(error));
        match error {
            StoreError::NotFound { kind, id } => Self {
                kind: Some(*kind),
                id: Some(id.clone()),
                ..new("not-found", "not found", 404)
            },
            StoreError::Conflict { kind, id, reason } => Self {
                kind: Some(*kind),
                id: Some(id.clone()),
                reason: Some(reason.clone()),
                ..new("conflict", "not possible in this state", 409)
            },
            StoreError::Invalid(invalid) => Self {
                field: Some(invalid.field.to_string()),
                reason: Some(invalid.reason.clone()),
                ..new("invalid", "a value must be corrected", 422)
            },
            StoreError::Unsupported { feature } => Self {
                feature: Some(*feature),
                ..new("unsupported", "not supported by this store", 501)
            },
            StoreError::Busy { retry_after } => Self {
                retry_after_ms: u64::try_from(retry_after.as_millis()).ok(),
                ..new("busy", "try again later", 503)
            },
            StoreError::Unreachable { .. } => {
                new("unreachable", "the server cannot be reached", 503)
            }
            StoreError::Unauthorized => new("unauthorized", "not signed in", 401),
            StoreError::Forbidden { reason } => {
                Self { reason: reason.clone(), ..new("forbidden", FORBIDDEN, 403) }
            }
            StoreError::Newer { .. } => new("newer", "the store is newer than this program", 500),
            StoreError::Corrupt { .. } => new("corrupt", "the store is damaged", 500),
            StoreError::Backend { .. } => new("backend", "the machine refused", 500),
        }
    }
}

impl From<Problem> for StoreError {
    fn from(problem: Problem) -> Self {
        let Problem { code, detail, kind, id, field, reason, feature, retry_after_ms, .. } =
            problem;
        let id = id.unwrap_or_default();
        if code == "forbidden" {
            // Most refusals say why in their detail alone.
            let said = Some(detail).filter(|text| !text.is_empty() && text != FORBIDDEN);
            return Self::Forbidden { reason: reason.or(said) };
        }
        let reason = reason.unwrap_or_default();
        match (code.as_str(), kind, feature) {
            ("not-found", Some(kind), _) => Self::NotFound { kind, id },
            ("conflict", Some(kind), _) => Self::Conflict { kind, id, reason },
            ("invalid", _, _) => Invalid::new(field.unwrap_or_default(), reason).into(),
            ("unsupported", _, Some(feature)) => Self::Unsupported { feature },
            ("busy", _, _) => {
                Self::Busy { retry_after: Duration::from_millis(retry_after_ms.unwrap_or(0)) }
            }
            ("unauthorized", _, _) => Self::Unauthorized,
            ("corrupt", _, _) => Self::corrupt("the remote store", detail),
            _ => Self::backend("do that remotely", detail),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_a_caller_can_act_on_survive_the_wire_unchanged() {
        for error in [
            StoreError::not_found(Kind::Session, "s1"),
            StoreError::conflict(Kind::Run, "r1", "is stopped"),
            Invalid::new("limit", "0").into(),
            StoreError::Unsupported { feature: Feature::Workspaces },
            StoreError::Busy { retry_after: Duration::from_millis(250) },
            StoreError::Unauthorized,
            StoreError::Forbidden { reason: None },
            StoreError::Forbidden { reason: Some("the token is for the agent alice".to_owned()) },
        ] {
            let json = serde_json::to_string(&Problem::from(&error)).unwrap();
            let back = StoreError::from(serde_json::from_str::<Problem>(&json).unwrap());
            assert_eq!(format!("{error:?}"), format!("{back:?}"));
        }
    }

    #[test]
    fn a_refusal_keeps_its_reason_also_when_only_the_detail_has_it() {
        let problem = Problem::new("forbidden", "not allowed", 403, "this needs the role admin");
        let error = StoreError::from(problem);
        assert_eq!(error.to_string(), "not allowed: this needs the role admin");
        let bare = StoreError::from(Problem::from(&StoreError::Forbidden { reason: None }));
        assert_eq!(bare.to_string(), "not allowed");
    }
}
