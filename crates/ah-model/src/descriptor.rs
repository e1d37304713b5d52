//! Descriptors: who an agent is, by its type. Unknown types and unknown keys are kept as they are.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::AGENT_TYPE_BYTES_MAX;
use crate::{Invalid, RawJson};

/// What sort of identity an agent is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentType {
    /// Speaks with a person over a connector.
    User,
    /// Woken by a schedule.
    Cron,
    /// Part of the system around the agents.
    System,
    /// Started by another agent.
    Subagent,
    /// Works for an application.
    App,
    /// Lives until it is retired.
    Permanent,
    /// A type this program does not know.
    Other(String),
}

impl AgentType {
    /// The types that are typed.
    pub const KNOWN: [Self; 6] =
        [Self::User, Self::Cron, Self::System, Self::Subagent, Self::App, Self::Permanent];

    /// The word stored and printed.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Cron => "cron",
            Self::System => "system",
            Self::Subagent => "subagent",
            Self::App => "app",
            Self::Permanent => "permanent",
            Self::Other(word) => word,
        }
    }

    /// The type of that word, whatever it is.
    pub fn of(word: &str) -> Self {
        let known = Self::KNOWN.into_iter().find(|known| known.as_str() == word);
        known.unwrap_or_else(|| Self::Other(word.to_owned()))
    }

    /// Refuses a word that is not 1 to 64 letters, digits, `_` and `-`.
    pub fn check(&self) -> Result<(), Invalid> {
        let word = self.as_str();
        let fits = (1..=AGENT_TYPE_BYTES_MAX).contains(&word.len());
        if fits && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            return Ok(());
        }
        Err(Invalid::new("agent type", format!("{word:?} is not a word of letters and digits")))
    }
}

impl FromStr for AgentType {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let agent_type = Self::of(text);
        agent_type.check().map(|()| agent_type)
    }
}

impl TryFrom<String> for AgentType {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<AgentType> for String {
    fn from(agent_type: AgentType) -> Self {
        agent_type.as_str().to_owned()
    }
}

impl fmt::Display for AgentType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A descriptor read by its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Descriptor {
    /// Of a `user` agent.
    User(UserDescriptor),
    /// Of a `cron` agent.
    Cron(CronDescriptor),
    /// Of a `system` agent.
    System(SystemDescriptor),
    /// Of a `subagent`.
    Subagent(SubagentDescriptor),
    /// Of an `app` agent.
    App(AppDescriptor),
    /// Of a `permanent` agent.
    Permanent(PermanentDescriptor),
    /// Of a type this program does not know.
    Other,
}

/// A person at the other end of a connector.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct UserDescriptor {
    pub connector: String,
    pub user_id: String,
    pub channel_id: String,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct CronDescriptor {
    pub id: String,
    pub name: Option<String>,
}

/// A part of the system.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct SystemDescriptor {
    pub tag: String,
}

/// An agent started by another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct SubagentDescriptor {
    pub id: String,
    pub parent_agent_id: String,
    pub name: String,
}

/// An agent that works for an application.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct AppDescriptor {
    pub id: String,
    pub parent_agent_id: String,
    pub name: String,
    pub system_prompt: String,
    pub app_id: String,
}

/// An agent that lives until it is retired.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is the key of the same name")]
pub struct PermanentDescriptor {
    pub id: Option<String>,
    pub name: String,
    pub username: Option<String>,
    pub description: Option<String>,
    pub system_prompt: Option<String>,
    pub workspace_dir: Option<String>,
}

#[derive(Deserialize)]
struct Tagged {
    #[serde(rename = "type")]
    tag: Option<String>,
}

impl Descriptor {
    /// Reads `json` as the descriptor of an agent of `agent_type`, or says which key is wrong.
    pub fn read(agent_type: &AgentType, json: &RawJson) -> Result<Self, Invalid> {
        if !json.as_str().starts_with('{') {
            return Err(Invalid::new("descriptor", "must be a JSON object"));
        }
        let Tagged { tag } = typed(agent_type, json)?;
        if let Some(tag) = tag.filter(|tag| tag != agent_type.as_str()) {
            let reason = format!("its type is {tag:?}, the agent's is {agent_type}");
            return Err(Invalid::new("descriptor", reason));
        }
        let read = match agent_type {
            AgentType::User => Self::User(typed(agent_type, json)?),
            AgentType::Cron => Self::Cron(typed(agent_type, json)?),
            AgentType::System => Self::System(typed(agent_type, json)?),
            AgentType::Subagent => Self::Subagent(typed(agent_type, json)?),
            AgentType::App => Self::App(typed(agent_type, json)?),
            AgentType::Permanent => Self::Permanent(typed(agent_type, json)?),
            AgentType::Other(_) => Self::Other,
        };
        match read.identity().into_iter().find(|(_, value)| value.is_empty()) {
            Some((key, _)) => Err(Invalid::new("descriptor", format!("`{key}` is empty"))),
            None => Ok(read),
        }
    }

    /// The descriptor of an agent of which only type and name are known; types that need more say
    /// what.
    pub fn plain(agent_type: &AgentType, name: &str) -> Result<RawJson, Invalid> {
        let word = agent_type.as_str();
        let json = match agent_type {
            AgentType::User | AgentType::Subagent | AgentType::App => {
                return typed_example(agent_type);
            }
            AgentType::Cron => serde_json::json!({ "type": word, "id": name }),
            AgentType::System => serde_json::json!({ "type": word, "tag": name }),
            AgentType::Permanent => serde_json::json!({ "type": word, "name": name }),
            AgentType::Other(_) => serde_json::json!({ "type": word }),
        };
        RawJson::of(&json)
    }

    /// The keys that tell agents of a type apart.
    fn identity(&self) -> Vec<(&'static str, &str)> {
        match self {
            Self::User(user) => vec![
                ("connector", &user.connector),
                ("userId", &user.user_id),
                ("channelId", &user.channel_id),
            ],
            Self::Cron(cron) => vec![("id", &cron.id)],
            Self::System(system) => vec![("tag", &system.tag)],
            Self::Subagent(sub) => vec![("id", &sub.id), ("parentAgentId", &sub.parent_agent_id)],
            Self::App(app) => vec![
                ("id", &app.id),
                ("parentAgentId", &app.parent_agent_id),
                ("appId", &app.app_id),
            ],
            Self::Permanent(permanent) => vec![("name", &permanent.name)],
            Self::Other => vec![],
        }
    }
}

fn typed<T: DeserializeOwned>(agent_type: &AgentType, json: &RawJson) -> Result<T, Invalid> {
    json.read().map_err(|error| {
        // The position means nothing to who typed it with white space.
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        Invalid::new("descriptor", format!("of a {agent_type} agent: {text}"))
    })
}

fn typed_example(agent_type: &AgentType) -> Result<RawJson, Invalid> {
    let keys = match agent_type {
        AgentType::User => "connector, userId and channelId",
        AgentType::Subagent => "id, parentAgentId and name",
        AgentType::App => "id, parentAgentId, name, systemPrompt and appId",
        AgentType::Cron | AgentType::System | AgentType::Permanent | AgentType::Other(_) => "none",
    };
    Err(Invalid::new("descriptor", format!("a {agent_type} agent needs one with {keys}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str, json: &str) -> Result<Descriptor, Invalid> {
        Descriptor::read(&AgentType::of(word), &RawJson::parse("descriptor", json, 10_000).unwrap())
    }

    #[test]
    fn every_known_type_is_read_and_keeps_what_it_does_not_know() {
        for (word, json) in [
            (
                "user",
                r#"{"type":"user","connector":"telegram","userId":"u","channelId":"c","x":1}"#,
            ),
            ("cron", r#"{"id":"nightly","name":null}"#),
            ("system", r#"{"tag":"heartbeat"}"#),
            ("subagent", r#"{"id":"a","parentAgentId":"b","name":"c"}"#),
            ("app", r#"{"id":"a","parentAgentId":"b","name":"c","systemPrompt":"","appId":"d"}"#),
            ("permanent", r#"{"name":"librarian","description":"Keeps the shelves."}"#),
            ("heartbeat", r#"{"type":"heartbeat","anything":[1]}"#),
        ] {
            assert!(read(word, json).is_ok(), "{word} {json}: {:?}", read(word, json));
        }
    }

    #[test]
    fn what_its_type_does_not_allow_is_refused_by_key() {
        for (word, json, part) in [
            ("user", r#"{"connector":"telegram","userId":"u"}"#, "channelId"),
            ("cron", r#"{"id":7}"#, "string"),
            ("system", r#"{"tag":""}"#, "`tag` is empty"),
            ("permanent", r#"{"type":"user","name":"x"}"#, "its type is \"user\""),
            ("other", "[]", "object"),
        ] {
            let reason = read(word, json).unwrap_err().reason;
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn a_plain_descriptor_is_read_by_its_own_type() {
        for known in AgentType::KNOWN {
            match Descriptor::plain(&known, "nightly") {
                Ok(json) => assert!(Descriptor::read(&known, &json).is_ok(), "{known}"),
                Err(error) => assert!(error.reason.contains("needs one with"), "{known}"),
            }
        }
    }
}
