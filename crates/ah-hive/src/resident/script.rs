//! Scripts of the built-in kind `scripted`: rules that say what an agent does with a message. No
//! model, no network; for demonstrations and tests.

use std::path::Path;

use ah_model::{Message, MessageKind, Party};
use serde::Deserialize;

use super::ResidentError;

/// Longest script.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;

/// What an agent does: the steps of the first rule that fits a message; nothing when none does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Script {
    /// The rules, in order.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

/// What to do with some messages.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// Which messages.
    #[serde(default)]
    pub when: When,
    /// What, in order.
    #[serde(default, rename = "do")]
    pub steps: Vec<Step>,
}

/// Which messages; every part that is given must fit.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct When {
    /// Of this kind.
    #[serde(default)]
    pub kind: Option<MessageKind>,
    /// Written by.
    #[serde(default)]
    pub from: Option<Party>,
    /// With these words in it.
    #[serde(default)]
    pub contains: Option<String>,
    /// Handed out before, or not.
    #[serde(default)]
    pub redelivered: Option<bool>,
}

impl When {
    fn fits(&self, message: &Message) -> bool {
        self.kind.is_none_or(|kind| kind == message.kind)
            && self.from.as_ref().is_none_or(|from| from.is(message.from.as_str()))
            && self.contains.as_ref().is_none_or(|words| message.body.contains(words))
            && self.redelivered.is_none_or(|again| again == (message.deliveries > 1))
    }
}

/// One thing to do. In texts `{from}`, `{body}`, `{about}` and `{agent}` stand for what they say.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Step {
    /// Write to somebody.
    Send {
        /// Whom.
        to: Party,
        /// What.
        text: String,
    },
    /// Answer who wrote.
    Reply(String),
    /// Ask somebody; the answer comes as a message.
    Ask {
        /// Whom.
        to: Party,
        /// What.
        text: String,
        /// The answers to choose from.
        #[serde(default)]
        options: Vec<String>,
        /// How long there is to answer.
        #[serde(default)]
        ttl_ms: Option<u64>,
    },
    /// Answer the question that the message is about.
    Answer(String),
    /// Ask the operator for an approval; the decision comes as a message.
    Request {
        /// What is asked for.
        kind: String,
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Say something: what the turn answers.
    Say(String),
    /// Wait so many milliseconds.
    Sleep(u64),
    /// End the turn as failed.
    Fail(String),
}

impl Script {
    /// Reads a script from its JSON text.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<Self, ResidentError> {
        let unreadable = |reason| ResidentError::Script { path: path.to_owned(), reason };
        let meta = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
        if meta.len() > SCRIPT_BYTES_MAX {
            return Err(unreadable(format!("is longer than {SCRIPT_BYTES_MAX} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        Self::parse(&text).map_err(unreadable)
    }

    /// What to do with a message.
    pub(super) fn steps(&self, message: &Message) -> &[Step] {
        let fitting = self.rules.iter().find(|rule| rule.when.fits(message));
        fitting.map_or(&[], |rule| &rule.steps)
    }
}

/// `text` with what its placeholders say of `message` and the agent `name`.
pub(super) fn filled(text: &str, message: &Message, name: &str) -> String {
    // The body comes last: what it holds is not filled again.
    text.replace("{from}", message.from.as_str())
        .replace("{about}", message.about.as_deref().unwrap_or_default())
        .replace("{agent}", name)
        .replace("{body}", &message.body)
}
