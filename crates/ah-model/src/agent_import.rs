//! Agents that come from another store, with their sessions and events.

use serde::{Deserialize, Serialize};

use crate::limits::{AGENT_NAME_BYTES_MAX, PROMPT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use crate::text::{check_filled, check_optional};
use crate::{AgentId, Cause, Invalid, Lifecycle, NewAgent, NewEvent, Timestamp};

/// An agent with its history from another store; see the contract's `import_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentImport {
    /// Who it is; its origin must be given.
    #[cfg_attr(
        feature = "schema",
        schemars(extend(
            "properties" = { "origin": { "type": "object" } },
            "required" = ["origin"]
        ))
    )]
    pub agent: NewAgent,
    /// Whether it takes part.
    pub lifecycle: Lifecycle,
    /// When it was recorded there.
    pub created_at: Timestamp,
    /// When it last changed there.
    pub updated_at: Timestamp,
    /// Its sessions, oldest first; the last is the one that goes on.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub sessions: Vec<SessionImport>,
}

/// A session of an imported agent, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionImport {
    /// Its id in the other store; the source is the agent's.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = crate::limits::INDEXED_TEXT_BYTES_MAX), pattern(r"\S"))
    )]
    pub external_id: String,
    /// Why it began.
    pub cause: Cause,
    /// The first thing in its context.
    #[serde(default)]
    pub reset_message: Option<String>,
    /// The inference provider's id of the conversation.
    #[serde(default)]
    pub inference_session_id: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ended; absent for the one that goes on.
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Its events in order, each with its time; a key makes a second import of it harmless.
    pub events: Vec<NewEvent>,
}

impl AgentImport {
    /// The names to try, in order: the one given, then with a number behind it.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let name = self.agent.name.clone();
        (1_u64..).map(move |number| match number {
            1 => name.clone(),
            _ => {
                let behind = format!("-{number}");
                let kept = AGENT_NAME_BYTES_MAX.saturating_sub(behind.len()).min(name.len());
                format!("{}{behind}", &name[..kept])
            }
        })
    }

    /// Why the session at `place` ended: what the next one began with.
    pub fn end_reason(&self, place: usize) -> &'static str {
        self.sessions.get(place + 1).map_or("ended", |next| next.cause.as_str())
    }

    /// Refuses what cannot be stored. Any object is taken for a descriptor.
    pub fn check(&self) -> Result<(), Invalid> {
        self.agent.check_but_descriptor()?;
        if self.agent.origin.is_none() {
            return Err(Invalid::new("origin", "an imported agent needs one"));
        }
        if self.sessions.is_empty() {
            return Err(Invalid::new("sessions", "an imported agent needs one"));
        }
        let left = |next: &&[SessionImport]| {
            next[0].ended_at.is_none() && next[0].external_id != next[1].external_id
        };
        if let Some(next) = self.sessions.windows(2).find(left) {
            let reason = format!("session {} is not the last and needs one", next[0].external_id);
            return Err(Invalid::new("endedAt", reason));
        }
        self.sessions.iter().try_for_each(SessionImport::check)
    }
}

impl SessionImport {
    fn check(&self) -> Result<(), Invalid> {
        check_filled("externalId", &self.external_id, crate::limits::INDEXED_TEXT_BYTES_MAX)?;
        check_optional("resetMessage", self.reset_message.as_deref(), PROMPT_BYTES_MAX)?;
        let provider = self.inference_session_id.as_deref();
        check_optional("inferenceSessionId", provider, SHORT_TEXT_BYTES_MAX)?;
        self.events.iter().try_for_each(NewEvent::check)
    }

    /// When anything last happened to it.
    pub fn last_activity_at(&self) -> Timestamp {
        let events = self.events.iter().filter_map(|event| event.ts);
        events.chain(self.ended_at).fold(self.created_at, Timestamp::max)
    }
}

/// What an import of an agent did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AgentImported {
    /// The agent.
    pub agent_id: AgentId,
    /// The name it has here.
    pub name: String,
    /// Whether it was not here before.
    pub created: bool,
    /// Sessions that were new.
    pub sessions: u64,
    /// Events that were new.
    pub events: u64,
    /// Events that were there already.
    pub present: u64,
}
