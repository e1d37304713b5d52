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
    usage: Option<Usage>,
    tokens: Option<Entry>,
}

/// What programs write that count by provider and model.
#[derive(Deserialize)]
struct Entry {
    size: Size,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Size {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Size> for Usage {
    fn from(size: Size) -> Self {
        Self {
            input_tokens: size.input,
            output_tokens: size.output,
            cache_read_tokens: size.cache_read,
            cache_write_tokens: size.cache_write,
            reasoning_tokens: 0,
        }
    }
}

impl Usage {
    /// The `usage` object of an event's payload, else the `size` of its `tokens`; nothing when
    /// there is none that can be read.
    pub fn of_event(data: &RawJson) -> Self {
        // Most events carry none: the search costs far less than a parse.
        if !["\"usage\"", "\"tokens\""].iter().any(|key| data.as_str().contains(key)) {
            return Self::default();
        }
        let Ok(Carrier { usage, tokens }) = data.read() else {
            return Self::default();
        };
        usage.or(tokens.map(|entry| entry.size.into())).unwrap_or_default().bounded()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_in_both_spellings_and_counted_once() {
        let spent = Usage { input_tokens: 3, output_tokens: 4, cache_read_tokens: 5, ..none() };
        for (json, usage) in [
            (r#"{"usage":{"inputTokens":3,"outputTokens":4,"cacheReadTokens":5}}"#, spent),
            (
                r#"{"tokens":{"provider":"p","model":"m","size":{"input":3,"output":4,"cacheRead":5,"cacheWrite":0,"total":12}}}"#,
                spent,
            ),
            (
                r#"{"usage":{"input_tokens":3,"output_tokens":4,"cache_read_tokens":5},"tokens":{"size":{"input":9}}}"#,
                spent,
            ),
            (r#"{"tokens":null,"text":"\"usage\""}"#, none()),
            (r#"{"tokens":"many"}"#, none()),
        ] {
            let data = RawJson::parse("data", json, 1_000).unwrap();
            assert_eq!(Usage::of_event(&data), usage, "{json}");
        }
    }

    fn none() -> Usage {
        Usage::default()
    }
}
