//! Token totals of a session, kept on its row in the transaction that appends.

use memchr::memmem;
use serde::{Deserialize, Serialize};

use crate::{Invalid, JsonSlice, RawJson};

/// The most tokens of a kind that are counted: the sum of two fits any store.
const TOKENS_MAX: u64 = i64::MAX as u64 / 2;

/// Tokens, each kind counted once and apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input that was not read from a cache.
    #[cfg_attr(feature = "schema", schemars(range(max = TOKENS_MAX)))]
    #[serde(alias = "input_tokens")]
    pub input_tokens: u64,
    /// Output without reasoning.
    #[cfg_attr(feature = "schema", schemars(range(max = TOKENS_MAX)))]
    #[serde(alias = "output_tokens")]
    pub output_tokens: u64,
    /// Input read from a cache.
    #[cfg_attr(feature = "schema", schemars(range(max = TOKENS_MAX)))]
    #[serde(alias = "cache_read_tokens")]
    pub cache_read_tokens: u64,
    /// Input written to a cache.
    #[cfg_attr(feature = "schema", schemars(range(max = TOKENS_MAX)))]
    #[serde(alias = "cache_write_tokens")]
    pub cache_write_tokens: u64,
    /// Output spent on reasoning.
    #[cfg_attr(feature = "schema", schemars(range(max = TOKENS_MAX)))]
    #[serde(alias = "reasoning_tokens")]
    pub reasoning_tokens: u64,
}

/// The keys of each number in a `usage` object, ours first.
const KEYS: [&[&str]; 5] = [
    &["inputTokens", "input_tokens"],
    &["outputTokens", "output_tokens"],
    &["cacheReadTokens", "cache_read_tokens", "cache_read_input_tokens"],
    &["cacheWriteTokens", "cache_write_tokens", "cache_creation_input_tokens"],
    &["reasoningTokens", "reasoning_tokens"],
];

/// Those of programs that count by provider and model, in the `size` of `tokens`.
const SIZE_KEYS: [&[&str]; 5] = [&["input"], &["output"], &["cacheRead"], &["cacheWrite"], &[]];

impl Usage {
    /// The `usage` object of an event's payload, else the `size` of its `tokens`. A number that
    /// cannot be read counts nothing and costs no other.
    pub fn of_event(data: &RawJson) -> Self {
        // Most events carry none: the search costs far less than taking them apart.
        let bytes = data.as_str().as_bytes();
        if !["\"usage\"", "\"tokens\""]
            .iter()
            .any(|key| memmem::find(bytes, key.as_bytes()).is_some())
        {
            return Self::default();
        }
        let data = data.slice().object();
        let usage = data.get(&["usage"]).filter(|usage| usage.as_str().starts_with('{'));
        let size = || data.get(&["tokens"]).and_then(|tokens| tokens.object().get(&["size"]));
        match usage {
            Some(usage) => Self::read(usage, &KEYS),
            None => size().map_or_else(Self::default, |size| Self::read(size, &SIZE_KEYS)),
        }
    }

    fn read(json: JsonSlice<'_>, keys: &[&[&str]; 5]) -> Self {
        let json = json.object();
        let [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens] =
            keys.map(|names| json.get(names).map_or(0, whole));
        Self {
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
        }
        .bounded()
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

    /// The tokens of all kinds.
    pub fn total(self) -> u64 {
        let kinds = [
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
        ];
        kinds.into_iter().fold(0, u64::saturating_add)
    }

    /// Refuses totals that no store can hold.
    pub(crate) fn check(self) -> Result<(), Invalid> {
        if self == self.bounded() {
            return Ok(());
        }
        Err(Invalid::new("usage", "more tokens than can be counted"))
    }

    fn bounded(self) -> Self {
        Self {
            input_tokens: self.input_tokens.min(TOKENS_MAX),
            output_tokens: self.output_tokens.min(TOKENS_MAX),
            cache_read_tokens: self.cache_read_tokens.min(TOKENS_MAX),
            cache_write_tokens: self.cache_write_tokens.min(TOKENS_MAX),
            reasoning_tokens: self.reasoning_tokens.min(TOKENS_MAX),
        }
    }
}

/// A count; some programs write it as `5.0`.
fn whole(json: JsonSlice<'_>) -> u64 {
    let text = json.as_str();
    // What is too large or below zero saturates, as does what is no number.
    text.parse().unwrap_or_else(|_| text.parse::<f64>().map_or(0, |number| number as u64))
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
            (
                r#"{"usage":{"inputTokens":3.0,"outputTokens":4,"cacheReadTokens":5,"reasoningTokens":null,"cacheWriteTokens":-1},"tokens":12}"#,
                spent,
            ),
            (
                r#"{"usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5}}"#,
                spent,
            ),
        ] {
            let data = RawJson::parse("data", json, 1_000).unwrap();
            assert_eq!(Usage::of_event(&data), usage, "{json}");
        }
    }

    fn none() -> Usage {
        Usage::default()
    }
}
