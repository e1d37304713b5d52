//! Hooks: a coding agent calls a program at each step, with a JSON payload that says what happens.
//!
//! A payload is an event with the payload as it is, of one of our words where there is one. It goes
//! to the session that a transcript of the same program is imported to, whichever comes first. The
//! key of an event is what the payload itself is known by, else an id that the call was given once:
//! a call that is handed on in two ways, or twice, is one event.

mod payload;
mod session;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use ah_model::{Invalid, NewRepo, RawJson, SessionId, Timestamp};
use ah_store::Store;
use serde::{Deserialize, Serialize};

use crate::{claude_code, codex};

pub use payload::HookEvent;

/// A program whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookTool {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// goose.
    Goose,
}

impl HookTool {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::Goose];

    /// What its sessions say they came from.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => claude_code::SOURCE,
            Self::Codex => codex::SOURCE,
            Self::Gemini => "gemini",
            Self::Goose => "goose",
        }
    }
}

impl fmt::Display for HookTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookTool {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|tool| tool.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Invalid::new("kind", format!("{text:?} is none of {known}"))
        })
    }
}

/// One call of a hook, as it is handed on until it is in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookCall {
    /// Who called.
    pub tool: HookTool,
    /// What the call is known by when its payload has nothing of the kind; never given twice.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// The directory of the call, for payloads that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
    /// The session that the agent was started for, if we started it: one that came from nowhere yet
    /// is taken for the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What was said.
    pub payload: RawJson,
}

impl HookCall {
    /// What the payload says, without any store. One that names no session is refused.
    pub fn event(&self) -> Result<HookEvent, Invalid> {
        HookEvent::read(self)
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fate", content = "reason")]
pub enum HookFate {
    /// It is in the store, for good.
    Recorded,
    /// It can never be, for this reason.
    Refused(String),
    /// It could not be, for this reason; it may be later.
    Waiting(String),
}

/// Appends `calls` to their sessions, in their order, and makes the sessions that are not there; what
/// came of each. A call that is there already is a success. `repo_of` is asked for the repository of a directory.
pub async fn record_hooks(
    store: &dyn Store,
    calls: &[HookCall],
    repo_of: &(dyn Fn(&Path) -> NewRepo + Sync),
) -> Vec<HookFate> {
    session::record(store, calls, repo_of).await
}
