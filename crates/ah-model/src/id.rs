//! Typed ids. What we mint is a UUIDv7 (sorts by time); what comes from outside is any text of 1 to
//! 128 printable bytes that needs no escaping in a URL path.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::ID_BYTES_MAX;
use crate::{Invalid, to_hex};

fn check_id(field: &'static str, text: &str) -> Result<(), Invalid> {
    if text.is_empty() || text.len() > ID_BYTES_MAX {
        let reason = format!("{} bytes, 1 to {ID_BYTES_MAX} are allowed", text.len());
        return Err(Invalid::new(field, reason));
    }
    match text.chars().find(|c| !is_path_safe(*c)) {
        Some(bad) => Err(Invalid::new(field, format!("`{}` in {text:?}", bad.escape_default()))),
        None if text == "." || text == ".." => {
            Err(Invalid::new(field, format!("{text:?} is a path")))
        }
        None => Ok(()),
    }
}

/// RFC 3986 `pchar` without percent-encoding.
fn is_path_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c)
}

/// The text of a UUIDv7 of `unix_ms`, its random part taken from `random`.
fn uuid_v7(unix_ms: u64, random: [u8; 10]) -> String {
    let mut bytes = [0_u8; 16];
    bytes[..6].copy_from_slice(&unix_ms.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&random);
    bytes[6] = bytes[6] & 0x0f | 0x70;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = to_hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $field:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A fresh id from the time and randomness of the caller's own source.
            pub fn mint(unix_ms: u64, random: [u8; 10]) -> Self {
                Self(uuid_v7(unix_ms, random))
            }

            /// The id as it is stored and printed.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = Invalid;
            fn try_from(text: String) -> Result<Self, Invalid> {
                check_id($field, &text)?;
                Ok(Self(text))
            }
        }

        impl FromStr for $name {
            type Err = Invalid;
            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// Names a session.
    SessionId, "session id"
);
text_id!(
    /// Names an agent.
    AgentId, "agent id"
);
text_id!(
    /// Names a run.
    RunId, "run id"
);
text_id!(
    /// Names a draft.
    DraftId, "draft id"
);
text_id!(
    /// Joins the tasks that one request started.
    BatchId, "batch id"
);
text_id!(
    /// Names a request that an access point makes of an executor.
    RequestId, "request id"
);
text_id!(
    /// Names a fence: a point that all members of a fleet reach before any goes on.
    FenceId, "fence id"
);
text_id!(
    /// Names a member of a fleet.
    MemberName, "member name"
);
text_id!(
    /// Names the outbox of an executor; a new one numbers its reports from 1 again.
    OutboxId, "outbox id"
);
text_id!(
    /// Names a token; not secret.
    TokenId, "token id"
);
text_id!(
    /// Names a message.
    MessageId, "message id"
);
text_id!(
    /// Names an approval.
    ApprovalId, "approval id"
);
text_id!(
    /// Names a question.
    QuestionId, "question id"
);
text_id!(
    /// Names a receipt.
    ReceiptId, "receipt id"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_id_is_a_version_7_uuid_that_starts_with_its_time() {
        let id = SessionId::mint(0x0123_4567_89ab, [0xff; 10]);
        assert_eq!(id.as_str(), "01234567-89ab-7fff-bfff-ffffffffffff");
    }

    #[test]
    fn ids_from_outside_must_be_safe_in_a_url_path() {
        for good in ["a", "ses_0123456789ab", "A.b~c:d@e", &"x".repeat(128)] {
            assert!(good.parse::<SessionId>().is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "a%20", "ä", "a\n", "..", ".", "a?b", &"x".repeat(129)] {
            assert!(bad.parse::<SessionId>().is_err(), "{bad}");
        }
    }
}
