//! Workspaces: named groups of sessions on a server.

use serde::{Deserialize, Serialize};

use crate::limits::SHORT_TEXT_BYTES_MAX;
use crate::text::{check_filled, check_optional};
use crate::{Invalid, Timestamp};

const NAME_BYTES_MAX: usize = 128;

/// A named group of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// The store's number for it.
    pub id: i64,
    /// Unique name.
    pub name: String,
    /// The id another server gave it.
    pub external_id: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Workspace {
    /// Refuses an empty or overlong name, and an overlong external id.
    pub fn check(name: &str, external_id: Option<&str>) -> Result<(), Invalid> {
        Self::check_name(name)?;
        check_optional("externalId", external_id, SHORT_TEXT_BYTES_MAX)
    }

    /// Refuses an empty or overlong name.
    pub fn check_name(name: &str) -> Result<(), Invalid> {
        check_filled("workspace name", name, NAME_BYTES_MAX)
    }
}
