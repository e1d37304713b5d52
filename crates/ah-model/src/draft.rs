//! Drafts: tasks not sent yet.

use serde::{Deserialize, Serialize};

use crate::limits::{PROMPT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use crate::text::{check_filled, check_optional};
use crate::{AgentKindRef, DraftId, Invalid, Timestamp, check_text};

const MODELS_MAX: usize = 32;

/// What a person has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DraftFields {
    /// The prompt so far.
    #[cfg_attr(feature = "schema", schemars(length(max = PROMPT_BYTES_MAX)))]
    pub description: String,
    /// Repository path or URL.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = SHORT_TEXT_BYTES_MAX), pattern(r"\S"))
    )]
    pub repository: String,
    /// The branch to work on.
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub branch: Option<String>,
    /// The agent kinds chosen, `NAME[@VERSION]` each.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = MODELS_MAX), inner(pattern("^[A-Za-z0-9._+-]{1,64}(@[A-Za-z0-9._+-]{1,64})?$")))
    )]
    pub models: Vec<String>,
}

impl DraftFields {
    /// Refuses overlong texts and models that are not agent kinds. A half-written draft is fine.
    pub fn check(&self) -> Result<(), Invalid> {
        check_text("description", &self.description, PROMPT_BYTES_MAX)?;
        check_filled("repository", &self.repository, SHORT_TEXT_BYTES_MAX)?;
        check_optional("branch", self.branch.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        if self.models.len() > MODELS_MAX {
            let reason = format!("{} models, at most {MODELS_MAX} are allowed", self.models.len());
            return Err(Invalid::new("models", reason));
        }
        self.models.iter().try_for_each(|model| model.parse::<AgentKindRef>().map(drop))
    }
}

/// A kept draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Its id.
    pub id: DraftId,
    /// What it says.
    #[serde(flatten)]
    pub fields: DraftFields,
    /// When it was first saved.
    pub created_at: Timestamp,
    /// When it was last saved.
    pub updated_at: Timestamp,
}
