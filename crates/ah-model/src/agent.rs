//! Agents: named identities with memory that live through many sessions.
//!
//! Invariants: a name is unique in any case of its letters; sessions of an agent are numbered from
//! 1 without reuse, so their order never comes from a clock; a dead agent changes no more.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{
    AGENT_JSON_BYTES_MAX, AGENT_NAME_BYTES_MAX, JSON_DEPTH_MAX, PROMPT_BYTES_MAX,
    SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::{
    AgentId, AgentImport, AgentKindRef, AgentType, Descriptor, Invalid, NewSession, Origin,
    RawJson, Session, SessionId, Timestamp, Usage,
};

/// Why a session ended that was brought to an agent that had gone on elsewhere.
pub const IMPORTED: &str = "import";
/// Why a session ended whose agent died.
pub const RETIRED: &str = "retired";

/// The name by which the operator is written to; no agent may have it.
pub const OPERATOR: &str = "operator";

/// Whether an agent takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// Loaded at start with its history.
    Active,
    /// Known at start; its history is read when it wakes.
    Sleeping,
    /// Stays listed, is never loaded.
    Dead,
}

impl Lifecycle {
    /// Every lifecycle, in order.
    pub const ALL: [Self; 3] = [Self::Active, Self::Sleeping, Self::Dead];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Sleeping => "sleeping",
            Self::Dead => "dead",
        }
    }
}

impl FromStr for Lifecycle {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|lifecycle| lifecycle.as_str() == text).ok_or_else(|| {
            Invalid::new("lifecycle", format!("{text:?} is none of active, sleeping, dead"))
        })
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An agent to create, with its first session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewAgent {
    /// Its id; minted when absent.
    #[serde(default)]
    pub id: Option<AgentId>,
    /// What people call it.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = AGENT_NAME_BYTES_MAX), pattern("^[A-Za-z0-9][A-Za-z0-9._-]*$"))
    )]
    pub name: String,
    /// What sort of identity it is.
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// Who it is, by its type; a plain one when absent.
    #[cfg_attr(feature = "schema", schemars(extend("type" = ["object", "null"])))]
    #[serde(default)]
    pub descriptor: Option<RawJson>,
    /// What it may do; an object.
    #[serde(default = "RawJson::empty_object")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub permissions: RawJson,
    /// What its last answer cost; `null` when nothing is known.
    #[serde(default = "RawJson::null")]
    pub tokens: RawJson,
    /// What it cost so far, as its program counts; an object.
    #[serde(default = "RawJson::empty_object")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub stats: RawJson,
    /// What else is known of it; an object.
    #[serde(default = "RawJson::empty_object")]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub metadata: RawJson,
    /// The model it runs on.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub model: Option<String>,
    /// Whether it refuses to be destroyed: the manager.
    #[serde(default)]
    pub protected: bool,
    /// Where it came from.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// Its first session, and through it the program it is an instance of.
    pub session: NewSession,
}

impl NewAgent {
    /// A permanent agent with nothing else said.
    pub fn new(name: impl Into<String>, session: NewSession) -> Self {
        Self {
            id: None,
            name: name.into(),
            agent_type: AgentType::Permanent,
            descriptor: None,
            permissions: RawJson::empty_object(),
            tokens: RawJson::null(),
            stats: RawJson::empty_object(),
            metadata: RawJson::empty_object(),
            model: None,
            protected: false,
            origin: None,
            session,
        }
    }

    /// Refuses any part that breaks its own rule, and a descriptor that its type does not know.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_but_descriptor()?;
        match &self.descriptor {
            Some(descriptor) => Descriptor::read(&self.agent_type, descriptor).map(drop),
            None => Descriptor::plain(&self.agent_type, &self.name).map(drop),
        }
    }

    /// As [`Self::check`], but takes any object for a descriptor: what another program left is
    /// kept as it is.
    pub fn check_but_descriptor(&self) -> Result<(), Invalid> {
        Agent::check_name(&self.name)?;
        self.agent_type.check()?;
        check_optional("model", self.model.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        self.origin.as_ref().map_or(Ok(()), Origin::check)?;
        let objects = [
            ("permissions", &self.permissions),
            ("stats", &self.stats),
            ("metadata", &self.metadata),
        ];
        let descriptor = self.descriptor.iter().map(|descriptor| ("descriptor", descriptor));
        objects.into_iter().chain(descriptor).try_for_each(|(field, json)| object(field, json))?;
        check_json("tokens", &self.tokens)?;
        self.session.check()
    }

    /// The descriptor to keep.
    pub fn settled_descriptor(&self) -> Result<RawJson, Invalid> {
        match &self.descriptor {
            Some(descriptor) => Ok(descriptor.clone()),
            None => Descriptor::plain(&self.agent_type, &self.name),
        }
    }
}

fn object(field: &'static str, json: &RawJson) -> Result<(), Invalid> {
    if !json.as_str().starts_with('{') {
        return Err(Invalid::new(field, "must be a JSON object"));
    }
    check_json(field, json)
}

fn check_json(field: &'static str, json: &RawJson) -> Result<(), Invalid> {
    let (bytes, depth) = (json.as_str().len(), json.depth());
    if bytes > AGENT_JSON_BYTES_MAX {
        let reason = format!("{bytes} bytes, at most {AGENT_JSON_BYTES_MAX} are allowed");
        return Err(Invalid::new(field, reason));
    }
    if depth > JSON_DEPTH_MAX {
        let reason = format!("nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed");
        return Err(Invalid::new(field, reason));
    }
    Ok(())
}

/// An agent the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// What sort of identity it is.
    #[serde(rename = "type")]
    pub agent_type: AgentType,
    /// The program it is an instance of.
    pub kind: AgentKindRef,
    /// Whether it takes part.
    pub lifecycle: Lifecycle,
    /// Whether it refuses to be destroyed: the manager.
    pub protected: bool,
    /// Since when only what it left is kept; a destroyed agent is dead.
    pub destroyed_at: Option<Timestamp>,
    /// The model it runs on.
    pub model: Option<String>,
    /// Who it is, by its type.
    pub descriptor: RawJson,
    /// What it may do.
    pub permissions: RawJson,
    /// What its last answer cost; `null` when nothing is known.
    pub tokens: RawJson,
    /// What it cost so far, as its program counts.
    pub stats: RawJson,
    /// What else is known of it.
    pub metadata: RawJson,
    /// Where it came from.
    pub origin: Option<Origin>,
    /// The session that goes on.
    pub active_session_id: Option<SessionId>,
    /// How many sessions it has begun; the number of the newest.
    pub session_count: u64,
    /// Token totals of all its sessions, kept in the transaction that appends.
    pub usage: Usage,
    /// Counts its changes from 1, so that a writer can tell whether it read the newest.
    pub revision: u64,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When it last changed; never goes back.
    pub updated_at: Timestamp,
}

impl Agent {
    /// An agent just created at `now` with `id` from what was asked for, before its first session.
    pub fn created(new: &NewAgent, id: AgentId, now: Timestamp) -> Result<Self, Invalid> {
        Ok(Self {
            id,
            name: new.name.clone(),
            agent_type: new.agent_type.clone(),
            kind: new.session.agent.clone(),
            lifecycle: Lifecycle::Active,
            protected: new.protected,
            destroyed_at: None,
            model: new.model.clone(),
            descriptor: new.settled_descriptor()?,
            permissions: new.permissions.clone(),
            tokens: new.tokens.clone(),
            stats: new.stats.clone(),
            metadata: new.metadata.clone(),
            origin: new.origin.clone(),
            active_session_id: None,
            session_count: 0,
            usage: Usage::default(),
            revision: 1,
            created_at: now,
            updated_at: now,
        })
    }

    /// Refuses a name that no directory or address could have: 1 to 64 letters, digits and `._-`,
    /// beginning with a letter or digit.
    pub fn check_name(name: &str) -> Result<(), Invalid> {
        let fits = (1..=AGENT_NAME_BYTES_MAX).contains(&name.len());
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !fits || !begins || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        {
            let reason = format!(
                "{name:?} is not 1 to {AGENT_NAME_BYTES_MAX} letters, digits and `._-`, \
                 beginning with a letter or digit"
            );
            return Err(Invalid::new("agent name", reason));
        }
        if name.eq_ignore_ascii_case(OPERATOR) {
            return Err(Invalid::new("agent name", "operator is the name of the person in charge"));
        }
        Ok(())
    }

    /// Moves the lifecycle at `now`, or says why it is refused. Staying is no change.
    pub fn transition(&mut self, to: Lifecycle, now: Timestamp) -> Result<(), String> {
        if self.lifecycle == to {
            return Ok(());
        }
        self.refuse_dead()?;
        if to == Lifecycle::Dead {
            self.refuse_protected()?;
        }
        self.lifecycle = to;
        self.changed(now);
        Ok(())
    }

    /// Leaves a tombstone at `now`. Doing it again changes nothing: then the answer is false.
    pub fn destroy(&mut self, now: Timestamp) -> Result<bool, String> {
        self.refuse_protected()?;
        if self.destroyed_at.is_some() {
            return Ok(false);
        }
        self.lifecycle = Lifecycle::Dead;
        self.destroyed_at = Some(now);
        self.changed(now);
        Ok(true)
    }

    /// Brings a destroyed agent back at `now`; its next session is still to begin.
    pub fn revive(&mut self, now: Timestamp) -> Result<(), String> {
        self.refuse_alive()?;
        self.lifecycle = Lifecycle::Active;
        self.destroyed_at = None;
        self.changed(now);
        Ok(())
    }

    /// Why an agent that was not destroyed is not brought back.
    pub fn refuse_alive(&self) -> Result<(), String> {
        match self.destroyed_at {
            Some(_) => Ok(()),
            None => Err(format!("is {} and was not destroyed", self.lifecycle)),
        }
    }

    /// Why a protected agent is not destroyed.
    pub fn refuse_protected(&self) -> Result<(), String> {
        if self.protected {
            return Err("is protected".to_owned());
        }
        Ok(())
    }

    /// Applies `update` at `now`, or says why it is refused.
    pub fn apply(&mut self, update: &AgentUpdate, now: Timestamp) -> Result<(), String> {
        self.refuse_dead()?;
        if let Some(expected) = update.expected_revision.filter(|number| *number != self.revision) {
            return Err(format!("is at revision {}, {expected} was expected", self.revision));
        }
        let set = |field: &mut RawJson, value: &Option<RawJson>| {
            if let Some(value) = value {
                field.clone_from(value);
            }
        };
        set(&mut self.descriptor, &update.descriptor);
        set(&mut self.permissions, &update.permissions);
        set(&mut self.tokens, &update.tokens);
        set(&mut self.stats, &update.stats);
        set(&mut self.metadata, &update.metadata);
        self.protected = update.protected.unwrap_or(self.protected);
        if let Some(model) = &update.model {
            self.model = Some(model.clone()).filter(|model| !model.is_empty());
        }
        self.changed(now);
        Ok(())
    }

    /// Notes that its sessions go on in `session` from `now` on.
    pub fn goes_on_in(&mut self, session: SessionId, now: Timestamp) {
        self.active_session_id = Some(session);
        self.changed(now);
    }

    /// Numbers its next session.
    pub fn begins_session(&mut self, cause: Cause) -> Membership {
        self.session_count += 1;
        Membership { id: self.id.clone(), number: self.session_count, cause }
    }

    /// An agent that `import` brings, under an id and a name that are free.
    pub fn imported(import: &AgentImport, id: AgentId, name: String) -> Result<Self, Invalid> {
        Ok(Self {
            name,
            lifecycle: import.lifecycle,
            updated_at: import.updated_at.max(import.created_at),
            ..Self::created(&import.agent, id, import.created_at)?
        })
    }

    /// Takes the state that `import` has if it is newer and the agent is not dead.
    pub fn take_newer(&mut self, import: &AgentImport) -> Result<(), Invalid> {
        if import.updated_at <= self.updated_at || self.lifecycle == Lifecycle::Dead {
            return Ok(());
        }
        self.agent_type.clone_from(&import.agent.agent_type);
        self.descriptor = import.agent.settled_descriptor()?;
        self.permissions.clone_from(&import.agent.permissions);
        self.tokens.clone_from(&import.agent.tokens);
        self.stats.clone_from(&import.agent.stats);
        self.metadata.clone_from(&import.agent.metadata);
        if import.agent.model.is_some() {
            self.model.clone_from(&import.agent.model);
        }
        self.lifecycle = import.lifecycle;
        self.changed(import.updated_at);
        Ok(())
    }

    /// Whether it goes on in `last`, the newest that `source` brought, when it was in `active`: not
    /// when it has gone on here, and not back.
    pub fn follows_import(active: Option<&Session>, last: &Session, source: &str) -> bool {
        let number = |session: &Session| session.of_agent.as_ref().map_or(0, |of| of.number);
        active.is_none_or(|active| {
            let brought = active.origin.as_ref().is_some_and(|origin| origin.source == source);
            active.id == last.id || (brought && number(last) > number(active))
        })
    }

    /// Notes a change at `now`; a clock that went back changes no time.
    pub fn changed(&mut self, now: Timestamp) {
        self.revision += 1;
        self.updated_at = self.updated_at.max(now);
    }

    /// Why an agent that goes on in `active` does not do what needs `expected`.
    pub fn expect(active: &SessionId, expected: Option<&SessionId>) -> Result<(), String> {
        match expected.filter(|expected| *expected != active) {
            Some(other) => Err(format!("goes on in session {active}, {other} was expected")),
            None => Ok(()),
        }
    }

    /// Why nothing more happens to a dead agent.
    pub fn refuse_dead(&self) -> Result<(), String> {
        match (self.lifecycle, self.destroyed_at) {
            (Lifecycle::Dead, None) => Err("is dead and changes no more".to_owned()),
            (Lifecycle::Dead, Some(_)) => Err("is destroyed".to_owned()),
            (Lifecycle::Active | Lifecycle::Sleeping, _) => Ok(()),
        }
    }
}

/// What of an agent to change; absent parts stay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentUpdate {
    /// Who it is.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub descriptor: Option<RawJson>,
    /// What it may do.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub permissions: Option<RawJson>,
    /// What its last answer cost; `null` forgets it.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub tokens: Option<RawJson>,
    /// What it cost so far.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub stats: Option<RawJson>,
    /// What else is known.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schemars(extend("type" = "object")))]
    pub metadata: Option<RawJson>,
    /// The model; an empty one forgets it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub model: Option<String>,
    /// Whether it refuses to be destroyed.
    #[serde(default)]
    pub protected: Option<bool>,
    /// Only if the agent is at this revision.
    #[serde(default)]
    pub expected_revision: Option<u64>,
}

impl AgentUpdate {
    /// Refuses any part that breaks its own rule for an agent of `agent_type`.
    pub fn check(&self, agent_type: &AgentType) -> Result<(), Invalid> {
        let objects = [
            ("descriptor", &self.descriptor),
            ("permissions", &self.permissions),
            ("stats", &self.stats),
            ("metadata", &self.metadata),
        ];
        for (field, json) in objects {
            json.as_ref().map_or(Ok(()), |json| object(field, json))?;
        }
        self.tokens.as_ref().map_or(Ok(()), |json| check_json("tokens", json))?;
        check_optional("model", self.model.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        match &self.descriptor {
            Some(descriptor) => Descriptor::read(agent_type, descriptor).map(drop),
            None => Ok(()),
        }
    }
}

/// Why a session of an agent began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// The agent was created.
    Created,
    /// Somebody reset the agent.
    Reset,
    /// The conversation was summed up.
    Compaction,
    /// The agent goes on from an earlier point.
    Fork,
    /// The agent was destroyed and brought back.
    Revival,
}

impl Cause {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Reset => "reset",
            Self::Compaction => "compaction",
            Self::Fork => "fork",
            Self::Revival => "revival",
        }
    }
}

impl FromStr for Cause {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        [Self::Created, Self::Reset, Self::Compaction, Self::Fork, Self::Revival]
            .into_iter()
            .find(|cause| cause.as_str() == text)
            .ok_or_else(|| Invalid::new("cause", format!("{text:?} begins no session")))
    }
}

/// The place of a session in an agent's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Membership {
    /// The agent.
    pub id: AgentId,
    /// Which of its sessions this is, from 1.
    pub number: u64,
    /// Why it began.
    pub cause: Cause,
}

/// A new session for an agent that lives on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Renewal {
    /// Why, and what the new session begins with.
    pub how: Beginning,
    /// The new session's id; minted when absent.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// The inference provider's id of the new conversation.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub inference_session_id: Option<String>,
    /// Only if this session is the active one.
    #[serde(default)]
    pub expected_session: Option<SessionId>,
    /// Only if the active session's newest seq is this.
    #[serde(default)]
    pub expected_seq: Option<u64>,
}

/// How a new session of an agent begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Beginning {
    /// With nothing but, perhaps, a message that says why.
    Reset {
        /// The first thing in the new context.
        message: Option<String>,
    },
    /// With a summary of what was said.
    Compaction {
        /// The first thing in the new context.
        #[cfg_attr(
            feature = "schema",
            schemars(length(min = 1, max = PROMPT_BYTES_MAX), pattern(r"\S"))
        )]
        summary: String,
    },
    /// With the log of one of its sessions up to a point.
    Fork {
        /// The session; the active one when absent.
        session: Option<SessionId>,
        /// The last seq that belongs to both; the newest when absent.
        at_seq: Option<u64>,
    },
}

impl Renewal {
    /// A renewal with nothing else said.
    pub fn new(how: Beginning) -> Self {
        Self {
            how,
            session_id: None,
            inference_session_id: None,
            expected_session: None,
            expected_seq: None,
        }
    }

    /// Why the new session begins.
    pub fn cause(&self) -> Cause {
        match self.how {
            Beginning::Reset { .. } => Cause::Reset,
            Beginning::Compaction { .. } => Cause::Compaction,
            Beginning::Fork { .. } => Cause::Fork,
        }
    }

    /// The first thing in the new context.
    pub fn reason(&self) -> Option<&str> {
        match &self.how {
            Beginning::Reset { message } => message.as_deref(),
            Beginning::Compaction { summary } => Some(summary),
            Beginning::Fork { .. } => None,
        }
    }

    /// Refuses overlong texts and an empty summary.
    pub fn check(&self) -> Result<(), Invalid> {
        let provider = self.inference_session_id.as_deref();
        check_optional("inferenceSessionId", provider, SHORT_TEXT_BYTES_MAX)?;
        match &self.how {
            Beginning::Reset { message } => {
                check_optional("message", message.as_deref(), PROMPT_BYTES_MAX)
            }
            Beginning::Compaction { summary } => check_filled("summary", summary, PROMPT_BYTES_MAX),
            Beginning::Fork { .. } => Ok(()),
        }
    }

    /// Why an agent whose active session is `active`, at `last_seq`, does not take it.
    pub fn refusal(&self, active: &SessionId, last_seq: u64) -> Option<String> {
        if let Err(reason) = Agent::expect(active, self.expected_session.as_ref()) {
            return Some(reason);
        }
        let expected = self.expected_seq.filter(|expected| *expected != last_seq)?;
        Some(format!("has {last_seq} events in its session, {expected} were expected"))
    }
}

/// Which agents of a list; every part that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentFilter {
    /// In one of these lifecycles; in any when empty.
    pub lifecycles: Vec<Lifecycle>,
    /// Of this type.
    pub agent_type: Option<AgentType>,
    /// Of this kind, any version.
    pub kind: Option<String>,
    /// With this text in the name, in any ASCII case.
    pub name: Option<String>,
    /// Destroyed, so that only what they left is kept; or not.
    pub destroyed: Option<bool>,
}

impl AgentFilter {
    /// Whether `agent` passes. Stores filter in their own way; this is what they must agree with.
    pub fn matches(&self, agent: &Agent) -> bool {
        let name = agent.name.to_ascii_lowercase();
        (self.lifecycles.is_empty() || self.lifecycles.contains(&agent.lifecycle))
            && self.agent_type.as_ref().is_none_or(|wanted| *wanted == agent.agent_type)
            && self.kind.as_ref().is_none_or(|kind| *kind == agent.kind.name)
            && self.name.as_ref().is_none_or(|part| name.contains(&part.to_ascii_lowercase()))
            && self.destroyed.is_none_or(|wanted| agent.destroyed_at.is_some() == wanted)
    }
}
