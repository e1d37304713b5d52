//! Who calls: an agent, the manager, or the operator. Found out once, by the way in; nothing that
//! a model writes can change it.

use ah_model::limits::LABEL_BYTES_MAX;
use ah_model::{Agent, Invalid, Party};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::problem::Failure;

/// The name of the agent that starts and stops others, if it is protected.
pub(super) const MANAGER: &str = "manager";

/// Where the `_meta` of a call names the session of the program that calls, most exact first:
/// Codex's thread and session, goose's session.
const SESSION_KEYS: [&str; 3] = ["threadId", "sessionId", "agent-session-id"];
/// Where it names the call: Claude Code, Codex, goose.
const CALL_KEYS: [&str; 3] = ["claudecode/toolUseId", "callId", "agent-tool-call-request-id"];

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Powers {
    /// What is about itself.
    Agent,
    /// Also spawn, start, stop and destroy others.
    Manager,
    /// Everything, as the operator.
    Admin,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The agent's name, as its row spells it.
    agent: Option<String>,
    /// The session of the program that calls, if it is known.
    session: Option<String>,
    powers: Powers,
}

impl Caller {
    /// An agent. The protected one that is called `manager` may manage others.
    pub fn agent(agent: &Agent) -> Self {
        let manages = agent.protected && agent.name.eq_ignore_ascii_case(MANAGER);
        let powers = if manages { Powers::Manager } else { Powers::Agent };
        Self { agent: Some(agent.name.clone()), session: None, powers }
    }

    /// The operator.
    pub fn operator() -> Self {
        Self { agent: None, session: None, powers: Powers::Admin }
    }

    /// The same in a session that is known from the start. What cannot be one is refused.
    pub fn in_session(self, session: Option<String>) -> Result<Self, Invalid> {
        match session.as_ref().filter(|session| !is_word(session)) {
            Some(session) => {
                let reason = format!("{session:?} is not 1 to {LABEL_BYTES_MAX} bytes of text");
                Err(Invalid::new("session", reason))
            }
            None => Ok(Self { session, ..self }),
        }
    }

    /// The same, for a call with this `_meta`: the session is taken from there if none is known.
    pub(super) fn with_meta(self, meta: &Map<String, Value>) -> Self {
        let session = self.session.or_else(|| word(meta, &SESSION_KEYS));
        Self { session, ..self }
    }

    pub(super) fn powers(&self) -> Powers {
        self.powers
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The party that acts, if `named` is who it says it is. Who is nobody else but the operator may
    /// act as anybody.
    pub(super) fn party(&self, named: Option<&str>) -> Result<Party, Failure> {
        match (&self.agent, named) {
            (None, None) => Ok(Party::Operator),
            (None, Some(name)) => Ok(name.parse()?),
            (Some(agent), None) => Ok(Party::Agent(agent.clone())),
            (Some(agent), Some(name)) if agent.eq_ignore_ascii_case(name) => {
                Ok(Party::Agent(agent.clone()))
            }
            (Some(agent), Some(name)) => {
                Err(forbidden(format!("you are {agent} and cannot act as {name}")))
            }
        }
    }

    /// Whether something between these parties is the caller's to see. The operator and the manager
    /// see everything.
    pub(super) fn sees(&self, parties: &[&str]) -> bool {
        match &self.agent {
            Some(agent) if self.powers == Powers::Agent => {
                parties.iter().any(|party| party.eq_ignore_ascii_case(agent))
            }
            Some(_) | None => true,
        }
    }
}

/// The call that `meta` names.
pub(super) fn tool_call(meta: &Map<String, Value>) -> Option<String> {
    word(meta, &CALL_KEYS)
}

fn word(meta: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let found = keys.iter().find_map(|key| meta.get(*key)?.as_str().filter(|text| is_word(text)));
    found.map(str::to_owned)
}

/// Whether it can be a label: not empty, not overlong, nothing that a terminal would obey.
fn is_word(text: &str) -> bool {
    (1..=LABEL_BYTES_MAX).contains(&text.len())
        && !text.trim().is_empty()
        && !text.contains(char::is_control)
}

pub(super) fn forbidden(detail: impl Into<String>) -> Failure {
    Failure::new("forbidden", "not allowed", 403, detail)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn alice() -> Caller {
        Caller { agent: Some("alice".to_owned()), session: None, powers: Powers::Agent }
    }

    fn meta(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_agent_is_itself_and_nobody_else() {
        let party = Party::Agent("alice".to_owned());
        assert_eq!(alice().party(None).unwrap(), party);
        assert_eq!(alice().party(Some("ALICE")).unwrap(), party);
        for other in ["bob", "operator", "", "../alice"] {
            let refused = alice().party(Some(other)).unwrap_err();
            assert_eq!(refused.problem().code, "forbidden", "{other}");
        }
    }

    #[test]
    fn the_operator_acts_as_whom_it_names() {
        let operator = Caller::operator();
        assert_eq!(operator.party(None).unwrap(), Party::Operator);
        assert_eq!(operator.party(Some("bob")).unwrap(), Party::Agent("bob".to_owned()));
        assert_eq!(operator.party(Some("../x")).unwrap_err().problem().code, "invalid");
    }

    #[test]
    fn a_session_of_the_launch_is_stronger_than_one_of_a_call() {
        let codex = meta(json!({ "sessionId": "root", "threadId": "child", "callId": "c1" }));
        assert_eq!(alice().with_meta(&codex).session(), Some("child"));
        let goose = meta(json!({ "agent-session-id": "20261115_1" }));
        assert_eq!(alice().with_meta(&goose).session(), Some("20261115_1"));
        let launched = alice().in_session(Some("launched".to_owned())).unwrap();
        assert_eq!(launched.with_meta(&codex).session(), Some("launched"));
        assert_eq!(tool_call(&codex), Some("c1".to_owned()));
        let claude = meta(json!({ "claudecode/toolUseId": "toolu_1" }));
        assert_eq!(tool_call(&claude), Some("toolu_1".to_owned()));
    }

    #[test]
    fn what_cannot_be_a_label_is_no_session() {
        for bad in [json!(7), json!(""), json!("  "), json!("a\u{1b}[2J"), json!("x".repeat(300))] {
            assert_eq!(alice().with_meta(&meta(json!({ "sessionId": bad }))).session(), None);
        }
        assert!(alice().in_session(Some(String::new())).is_err());
    }
}
