//! How a run is carried out: what its parameters say to whoever runs it on its own machine.
//!
//! An executor that knows nothing of this reads the prompt and leaves the rest alone.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Demands, Invalid, RawJson};

/// Where the agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WorkingCopy {
    /// In the directory itself.
    #[default]
    InPlace,
    /// In a git worktree of its own, on a branch of its own.
    Worktree,
    /// In a copy that a snapshot provider makes.
    Snapshot,
}

impl WorkingCopy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::InPlace, Self::Worktree, Self::Snapshot];

    /// The word stored and typed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InPlace => "in-place",
            Self::Worktree => "worktree",
            Self::Snapshot => "snapshot",
        }
    }

    fn is_in_place(&self) -> bool {
        *self == Self::InPlace
    }
}

impl FromStr for WorkingCopy {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("working copy", format!("{text:?} is none of {known}"))
        })
    }
}

/// A program that keeps terminals: an agent may run in one of its panes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Multiplexer {
    /// tmux.
    Tmux,
    /// Zellij.
    Zellij,
    /// GNU screen.
    Screen,
}

impl Multiplexer {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tmux, Self::Zellij, Self::Screen];

    /// The word stored and typed, which is also the program's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tmux => "tmux",
            Self::Zellij => "zellij",
            Self::Screen => "screen",
        }
    }
}

impl fmt::Display for Multiplexer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Multiplexer {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("multiplexer", format!("{text:?} is none of {known}"))
        })
    }
}

/// What the parameters of a run say to who runs an agent on its own machine. Other keys are not
/// ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunParameters {
    /// What the agent is told.
    pub prompt: String,
    /// The agent kind whose program takes the prompt; the session's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where it works.
    #[serde(skip_serializing_if = "WorkingCopy::is_in_place")]
    pub working_copy: WorkingCopy,
    /// The branch of its own working copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// What keeps its terminal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplexer: Option<Multiplexer>,
}

impl RunParameters {
    /// What `parameters` say.
    pub fn read(parameters: &RawJson) -> Result<Self, Invalid> {
        let read = serde_json::from_str(parameters.as_str());
        read.map_err(|error| Invalid::new("parameters", error.to_string()))
    }
}

/// How the runs of a task are carried out, where that is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Execution {
    /// What each run demands of who takes it.
    pub demands: Demands,
    /// Whether each run also demands the program of its own agent kind.
    pub by_kind: bool,
    /// Where the agents work.
    pub working_copy: WorkingCopy,
    /// What keeps their terminals.
    pub multiplexer: Option<Multiplexer>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_others_are_read_and_ours_are_short() {
        let read = |text: &str| {
            RunParameters::read(&RawJson::parse("parameters", text, 1_000).unwrap()).unwrap()
        };
        let plain = RunParameters { prompt: "do".to_owned(), ..RunParameters::default() };
        assert_eq!(read(r#"{"prompt":"do","other":[1]}"#), plain);
        assert_eq!(RawJson::of(&plain).unwrap().as_str(), r#"{"prompt":"do"}"#);
        let full = RunParameters {
            agent: Some("codex".to_owned()),
            working_copy: WorkingCopy::Worktree,
            branch: Some("b".to_owned()),
            multiplexer: Some(Multiplexer::Tmux),
            ..plain
        };
        assert_eq!(read(RawJson::of(&full).unwrap().as_str()), full);
    }
}
