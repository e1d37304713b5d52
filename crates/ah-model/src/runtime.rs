//! Runtimes: where a session's agent executes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::SHORT_TEXT_BYTES_MAX;
use crate::text::check_optional;
use crate::{Invalid, RawJson};

/// The kinds of runtime.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuntimeType {
    /// On the machine itself.
    #[default]
    Local,
    /// In a development container.
    Devcontainer,
    /// Nothing is executed; the session is only kept.
    Disabled,
}

/// A runtime by what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("anyOf" = [
        { "properties": { "type": { "const": "devcontainer" } } },
        { "properties": { "devcontainerPath": { "type": "null" } } },
    ]))
)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeSpec {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: RuntimeType,
    /// The container's definition, for `devcontainer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devcontainer_path: Option<String>,
}

impl RuntimeSpec {
    /// Refuses a container path on anything but a container.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.devcontainer_path.is_some() && self.kind != RuntimeType::Devcontainer {
            let reason = format!("only a devcontainer has a path, this is {}", self.kind);
            return Err(Invalid::new("devcontainer path", reason));
        }
        check_optional("devcontainer path", self.devcontainer_path.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// A runtime the store knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Flat", into = "Flat")]
pub struct Runtime {
    /// The store's number for it.
    pub id: i64,
    /// What it is.
    pub spec: RuntimeSpec,
    /// What else is known of it.
    pub metadata: Option<RawJson>,
}

/// A runtime on the wire. Raw JSON cannot be read through serde's own flattening.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Flat {
    id: i64,
    #[serde(rename = "type")]
    kind: RuntimeType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    devcontainer_path: Option<String>,
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    metadata: Option<RawJson>,
}

impl From<Flat> for Runtime {
    fn from(Flat { id, kind, devcontainer_path, metadata }: Flat) -> Self {
        Self { id, spec: RuntimeSpec { kind, devcontainer_path }, metadata }
    }
}

impl From<Runtime> for Flat {
    fn from(Runtime { id, spec, metadata }: Runtime) -> Self {
        let RuntimeSpec { kind, devcontainer_path } = spec;
        Self { id, kind, devcontainer_path, metadata }
    }
}

impl RuntimeType {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Devcontainer => "devcontainer",
            Self::Disabled => "disabled",
        }
    }
}

impl FromStr for RuntimeType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "local" => Ok(Self::Local),
            "devcontainer" => Ok(Self::Devcontainer),
            "disabled" => Ok(Self::Disabled),
            _ => Err(Invalid::new(
                "runtime",
                format!("{text:?} is none of local, devcontainer, disabled"),
            )),
        }
    }
}

impl fmt::Display for RuntimeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
