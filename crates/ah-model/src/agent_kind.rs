//! Agent kinds: an agent program and its version, `claude-code@latest`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Invalid, RawJson};

const PART_BYTES_MAX: usize = 64;
const LATEST: &str = "latest";

/// A kind by name, as people type it: `NAME` or `NAME@VERSION`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentKindRef {
    /// The program: `claude-code`, `codex`.
    #[serde(rename = "type")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = PART_BYTES_MAX), pattern("^[A-Za-z0-9._+-]+$"))
    )]
    pub name: String,
    /// `latest` or a version of the program's own.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = PART_BYTES_MAX), pattern("^[A-Za-z0-9._+-]+$"))
    )]
    pub version: String,
}

/// A kind the store knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Flat", into = "Flat")]
pub struct AgentKind {
    /// The store's number for it.
    pub id: i64,
    /// Name and version.
    pub kind: AgentKindRef,
    /// What else is known of it.
    pub metadata: Option<RawJson>,
}

/// A kind on the wire. Raw JSON cannot be read through serde's own flattening.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Flat {
    id: i64,
    #[serde(rename = "type")]
    name: String,
    version: String,
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    metadata: Option<RawJson>,
}

impl From<Flat> for AgentKind {
    fn from(Flat { id, name, version, metadata }: Flat) -> Self {
        Self { id, kind: AgentKindRef { name, version }, metadata }
    }
}

impl From<AgentKind> for Flat {
    fn from(AgentKind { id, kind, metadata }: AgentKind) -> Self {
        Self { id, name: kind.name, version: kind.version, metadata }
    }
}

impl FromStr for AgentKindRef {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (name, version) = text.split_once('@').unwrap_or((text, LATEST));
        let kind = Self { name: name.to_owned(), version: version.to_owned() };
        kind.check()?;
        Ok(kind)
    }
}

impl AgentKindRef {
    /// Refuses empty or overlong parts and anything but letters, digits and `._+-`.
    pub fn check(&self) -> Result<(), Invalid> {
        for part in [&self.name, &self.version] {
            let fits = (1..=PART_BYTES_MAX).contains(&part.len());
            if !fits || !part.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c)) {
                let reason =
                    format!("{self:?} is not NAME or NAME@VERSION", self = self.to_string());
                return Err(Invalid::new("agent kind", reason));
            }
        }
        Ok(())
    }
}

impl fmt::Display for AgentKindRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_latest_unless_given() {
        assert_eq!("codex".parse::<AgentKindRef>().unwrap().to_string(), "codex@latest");
        assert_eq!("codex@1.2.3-rc.1".parse::<AgentKindRef>().unwrap().version, "1.2.3-rc.1");
        for bad in ["", "@1", "codex@", "a b", "a@b@c", "é"] {
            assert!(bad.parse::<AgentKindRef>().is_err(), "{bad}");
        }
    }
}
