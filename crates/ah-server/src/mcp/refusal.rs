//! Refusals of tools: typed, so that a model can act on them.

use ah_store::{Kind, Problem};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Failure;

/// Why a tool did not do what was asked. A change that was refused has changed nothing.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Refusal {
    /// A stable word: `not-found`, `conflict`, `invalid`, `forbidden`, `busy`, …
    code: String,
    /// The kind of thing meant: `agent`, `message`, `question`, `approval`, `session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Its name or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The argument to correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// Why, in words.
    reason: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
    /// When it is worth trying again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Self {
        let problem = failure.problem();
        Self {
            code: problem.code.clone(),
            kind: problem.kind.map(|kind| kind.to_string()),
            id: problem.id.clone(),
            field: problem.field.clone(),
            reason: problem.detail.clone(),
            hint: hint(problem),
            retry_after_ms: problem.retry_after_ms,
        }
    }
}

/// What helps against `problem`, where something does.
fn hint(problem: &Problem) -> Option<&'static str> {
    match (problem.code.as_str(), problem.kind) {
        ("not-found", Some(Kind::Agent)) => Some("list_agents shows who there is"),
        ("not-found", Some(Kind::Message)) => Some("list_messages shows your mail"),
        ("not-found", Some(Kind::Question)) => Some("list_questions shows yours"),
        ("not-found", Some(Kind::Approval)) => Some("list_approvals shows yours"),
        ("not-found", Some(Kind::Session)) => Some("search_history finds your sessions"),
        ("conflict", Some(Kind::Message)) => {
            Some("another hand-out is newer, or it was handled: recv shows what waits for you")
        }
        ("conflict", Some(Kind::Question)) => Some("get_answer shows how it ended"),
        ("conflict", Some(Kind::Approval)) => Some("approval_status shows how it was decided"),
        ("invalid", _) => Some("correct the argument and call again; the schema has its bounds"),
        ("busy", _) => Some("call again after retryAfterMs"),
        ("forbidden", _) => Some("whoami shows who you are and what you may do"),
        _ => None,
    }
}
