//! Tokens: who may do what over the network. Only the hash of a secret is ever kept.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::limits::{AGENT_NAME_BYTES_MAX, LABEL_BYTES_MAX};
use crate::text::{check_filled, check_optional};
use crate::{Invalid, Timestamp, TokenId, from_hex, to_hex};

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenRole {
    /// Everything, tokens included.
    Admin,
    /// Everything but tokens.
    Operator,
    /// To look.
    Viewer,
    /// To take runs and report of them.
    Executor,
    /// To be one agent.
    Agent,
}

impl TokenRole {
    /// Every role.
    pub const ALL: [Self; 5] =
        [Self::Admin, Self::Operator, Self::Viewer, Self::Executor, Self::Agent];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Viewer => "viewer",
            Self::Executor => "executor",
            Self::Agent => "agent",
        }
    }
}

impl FromStr for TokenRole {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|role| role.as_str()).collect();
            Invalid::new("role", format!("{text:?} is none of {}", known.join(", ")))
        })
    }
}

impl fmt::Display for TokenRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The SHA-256 of a secret. Two are compared in the same time wherever they differ.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenHash([u8; 32]);

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        let differences = self.0.iter().zip(other.0).map(|(mine, theirs)| mine ^ theirs);
        // Looked at once, through a barrier, so that the loop cannot end early.
        std::hint::black_box(differences.fold(0, |all, bits| all | bits)) == 0
    }
}

impl Eq for TokenHash {}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

impl FromStr for TokenHash {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bytes = from_hex(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Invalid::new("hash", "must be 64 hexadecimal digits"))
    }
}

impl TryFrom<String> for TokenHash {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<TokenHash> for String {
    fn from(hash: TokenHash) -> Self {
        hash.to_string()
    }
}

const PREFIX: &str = "ah_";

/// A token as its holder has it: `ah_<id>_<secret>`. The id finds the row, the secret proves it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenSecret {
    id: TokenId,
    secret: String,
}

impl TokenSecret {
    /// A token of `id` with 256 random bits.
    pub fn new(id: TokenId, random: [u8; 32]) -> Self {
        Self { id, secret: to_hex(&random) }
    }

    /// The row it belongs to.
    pub fn id(&self) -> &TokenId {
        &self.id
    }

    /// What is kept of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.reveal().as_bytes()).into())
    }

    /// The whole token. Shown once, then only held by its owner.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_…", self.id)
    }
}

impl FromStr for TokenSecret {
    type Err = Invalid;

    /// Never repeats what it was given: it may be a secret.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parts = text.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('_'));
        let wrong = || Invalid::new("token", "not of the form ah_<id>_<64 hexadecimal digits>");
        let (id, secret) = parts.ok_or_else(wrong)?;
        let whole = secret.len() == 64 && from_hex(secret).is_some();
        let id = id.parse().map_err(|_| wrong())?;
        whole.then(|| Self { id, secret: secret.to_owned() }).ok_or_else(wrong)
    }
}

/// A token to keep. Who makes it keeps the secret; only its hash travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewToken {
    /// Its id, as in the secret.
    pub id: TokenId,
    /// The hash of the secret.
    pub hash: TokenHash,
    /// What it allows.
    pub role: TokenRole,
    /// The name of the agent it is for, for [`TokenRole::Agent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = AGENT_NAME_BYTES_MAX)))]
    pub agent: Option<String>,
    /// What to call it in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LABEL_BYTES_MAX)))]
    pub name: Option<String>,
    /// When it ends; never when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl NewToken {
    /// Refuses an agent's token without the agent, another with one, and names that are too long.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("name", self.name.as_deref(), LABEL_BYTES_MAX)?;
        match (self.role, &self.agent) {
            (TokenRole::Agent, None) => {
                Err(Invalid::new("agent", "a token of the role agent must name its agent"))
            }
            (TokenRole::Agent, Some(agent)) => check_filled("agent", agent, AGENT_NAME_BYTES_MAX),
            (role, Some(_)) => {
                Err(Invalid::new("agent", format!("a token of the role {role} names no agent")))
            }
            (_, None) => Ok(()),
        }
    }
}

/// A token the store keeps, without its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What it allows.
    pub role: TokenRole,
    /// The name of the agent it is for.
    pub agent: Option<String>,
    /// What to call it in lists.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, within [`crate::limits::SEEN_EVERY_MS`].
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// Whether it is good at `now`.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }
}

/// A token with what proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// The token.
    pub token: Token,
    /// The hash of its secret.
    pub hash: TokenHash,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> TokenSecret {
        TokenSecret::new("0190".parse().unwrap(), [7; 32])
    }

    #[test]
    fn a_secret_reads_back_and_is_never_printed_by_accident() {
        let text = secret().reveal();
        assert_eq!(text.parse(), Ok(secret()));
        assert_eq!(format!("{:?}", secret()), "ah_0190_…");
        for bad in ["", "ah_", "ah_x_12", &text[1..], &text[..text.len() - 1]] {
            let refused = bad.parse::<TokenSecret>().unwrap_err().to_string();
            assert!(!refused.contains("0707"), "{refused}");
        }
    }

    #[test]
    fn hashes_differ_by_any_bit() {
        let hash = secret().hash();
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for at in 0..32 {
            let mut other = hash;
            other.0[at] ^= 1;
            assert_ne!(hash, other);
        }
    }

    #[test]
    fn only_an_agents_token_names_an_agent() {
        let token = |role, agent: Option<&str>| NewToken {
            id: "t".parse().unwrap(),
            hash: secret().hash(),
            role,
            agent: agent.map(str::to_owned),
            name: None,
            expires_at: None,
        };
        assert!(token(TokenRole::Agent, Some("a")).check().is_ok());
        assert!(token(TokenRole::Viewer, None).check().is_ok());
        assert!(token(TokenRole::Agent, None).check().is_err());
        assert!(token(TokenRole::Admin, Some("a")).check().is_err());
    }
}
