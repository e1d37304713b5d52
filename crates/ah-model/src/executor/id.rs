//! The name of an executor.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::limits::EXECUTOR_ID_BYTES_MAX;

/// Names an executor: 1 to 512 visible ASCII characters, such as a SPIFFE ID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExecutorId(String);

impl ExecutorId {
    /// The id as it is stored and printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ExecutorId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        if text.is_empty() || text.len() > EXECUTOR_ID_BYTES_MAX {
            let reason = format!("{} bytes, 1 to {EXECUTOR_ID_BYTES_MAX} are allowed", text.len());
            return Err(Invalid::new("executor id", reason));
        }
        match text.chars().find(|c| !c.is_ascii_graphic()) {
            Some(bad) => {
                Err(Invalid::new("executor id", format!("`{}` in {text:?}", bad.escape_default())))
            }
            None => Ok(Self(text)),
        }
    }
}

impl FromStr for ExecutorId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text.to_owned())
    }
}

impl From<ExecutorId> for String {
    fn from(id: ExecutorId) -> Self {
        id.0
    }
}

impl fmt::Display for ExecutorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
