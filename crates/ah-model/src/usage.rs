//! Token totals of a session, kept on its row in the transaction that appends.

use serde::{Deserialize, Serialize};

use crate::{Invalid, RawJson};

/// Tokens, each kind counted once and apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input that was not read from a cache.
    #[serde(alias = "input_tokens")]
    pub input_tokens: u64,
    /// Output without reasoning.
    #[serde(alias = "output_tokens")]
    pub output_tokens: u64,
    /// Input read from a cache.
    #[serde(alias = "cache_read_tokens")]
    pub cache_read_tokens: u64,
    /// Input written to a cache.
    #[serde(alias = "cache_write_tokens")]
    pub cache_write_tokens: u64,
    /// Output spent on reasoning.
    #[serde(alias = "reasoning_tokens")]
    pub reasoning_tokens: u64,
}

#[derive(Deserialize)]
struct Carrier {
    usage: Usage,
}

impl Usage {
    /// The `usage` object of an event's payload; nothing when there is none that can be read.
    pub fn of_event(data: &RawJson) -> Self {
        // Most events carry none: the search costs far less than a parse.
        if !data.as_str().contains("\"usage\"") {
            return Self::default();
        }
        data.read::<Carrier>().map_or_else(|_| Self::default(), |carrier| carrier.usage.bounded())
    }

    /// The sum of both, stopping at the largest number a store can hold.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            cache_read_tokens: self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens: self.reasoning_tokens + other.reasoning_tokens,
        }
        .bounded()
    }

    /// Refuses totals that no store can hold.
    pub(crate) fn check(self) -> Result<(), Invalid> {
        if self == self.bounded() {
            return Ok(());
        }
        Err(Invalid::new("usage", "more tokens than can be counted"))
    }

    fn bounded(self) -> Self {
        const MAX: u64 = i64::MAX as u64 / 2;
        Self {
            input_tokens: self.input_tokens.min(MAX),
            output_tokens: self.output_tokens.min(MAX),
            cache_read_tokens: self.cache_read_tokens.min(MAX),
            cache_write_tokens: self.cache_write_tokens.min(MAX),
            reasoning_tokens: self.reasoning_tokens.min(MAX),
        }
    }
}
