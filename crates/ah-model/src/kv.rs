//! Key/value pairs by scope: small settings and caches.

use serde::{Deserialize, Serialize};

use crate::limits::{KV_KEY_BYTES_MAX, KV_VALUE_BYTES_MAX};
use crate::text::check_filled;
use crate::{Invalid, check_text};

const SCOPE_BYTES_MAX: usize = 128;

/// One pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KvEntry {
    /// `user`, `repo`, `repo-user`, `system` or any other name.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = SCOPE_BYTES_MAX), pattern(r"\S"))
    )]
    pub scope: String,
    /// The key, unique in its scope.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = KV_KEY_BYTES_MAX), pattern(r"\S"))
    )]
    pub key: String,
    /// The text kept under it.
    #[cfg_attr(feature = "schema", schemars(length(max = KV_VALUE_BYTES_MAX)))]
    pub value: String,
}

/// Refuses an empty or overlong scope.
pub fn check_scope(scope: &str) -> Result<(), Invalid> {
    check_filled("scope", scope, SCOPE_BYTES_MAX)
}

/// Refuses empty or overlong scopes and keys, and overlong values.
pub fn check_kv(scope: &str, key: &str, value: Option<&str>) -> Result<(), Invalid> {
    check_scope(scope)?;
    check_filled("key", key, KV_KEY_BYTES_MAX)?;
    value.map_or(Ok(()), |value| check_text("value", value, KV_VALUE_BYTES_MAX))
}
