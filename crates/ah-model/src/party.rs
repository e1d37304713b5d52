//! Parties: who writes, asks, answers and decides. The operator, or an agent by its name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Agent, Invalid, OPERATOR};

/// The operator or an agent. A name is never given twice, so it stands for the agent until it is
/// purged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Party {
    /// The person in charge, written `operator`.
    Operator,
    /// The agent of that name.
    Agent(String),
}

impl Party {
    /// The name as it is stored and printed.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Operator => OPERATOR,
            Self::Agent(name) => name,
        }
    }

    /// Whether `name` means this party; the case of letters makes no difference.
    pub fn is(&self, name: &str) -> bool {
        self.as_str().eq_ignore_ascii_case(name)
    }
}

impl FromStr for Party {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.eq_ignore_ascii_case(OPERATOR) {
            return Ok(Self::Operator);
        }
        Agent::check_name(text)?;
        Ok(Self::Agent(text.to_owned()))
    }
}

impl TryFrom<String> for Party {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Party> for String {
    fn from(party: Party) -> Self {
        party.as_str().to_owned()
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_and_agents_have_names_that_are_safe_in_a_path() {
        assert_eq!("Operator".parse::<Party>().unwrap(), Party::Operator);
        assert_eq!("alice".parse::<Party>().unwrap(), Party::Agent("alice".to_owned()));
        for bad in ["", "../x", "a/b", ".hidden", "al\u{456}ce", "a b", &"x".repeat(300)] {
            assert!(bad.parse::<Party>().is_err(), "{bad:?}");
        }
    }
}
