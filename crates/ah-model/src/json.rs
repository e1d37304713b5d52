//! JSON that is kept as it was written: numbers, key order, unknown keys and escapes survive.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Invalid;

/// One valid JSON value as text, without white space between tokens.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Reads one JSON value; `field` names it in the error.
    pub fn parse(field: &'static str, text: &str, bytes_max: usize) -> Result<Self, Invalid> {
        if text.len() > bytes_max {
            let reason = format!("{} bytes, at most {bytes_max} are allowed", text.len());
            return Err(Invalid::new(field, reason));
        }
        serde_json::from_str(text).map_err(|error| Invalid::new(field, format!("{error}")))
    }

    /// The JSON value of something that serialises; nothing of ours fails to.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, Invalid> {
        serde_json::value::to_raw_value(value)
            .map(Self)
            .map_err(|error| Invalid::new("data", error.to_string()))
    }

    /// Wraps text that a store wrote after parsing it; damaged text is handed back.
    pub fn from_stored(text: String) -> Result<Self, String> {
        // What other programs wrote may hold white space: one value is still one line.
        let dense = without_white_space(&text);
        serde_json::from_str(dense.as_deref().unwrap_or(&text)).map(Self).map_err(|_| text)
    }

    /// The JSON value `null`.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The JSON value `{}`.
    pub fn empty_object() -> Self {
        Self::of(&serde_json::Map::new()).unwrap_or_else(|_| Self::null())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// How deep its arrays and objects are nested; 0 for a plain value.
    pub fn depth(&self) -> usize {
        let text = self.as_str();
        let (mut depth, mut deepest, mut from) = (0_usize, 0, 0);
        while from < text.len() {
            let opening = text[from..].find('"').map_or(text.len(), |at| from + at);
            for byte in text[from..opening].bytes() {
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                deepest = deepest.max(depth);
            }
            from = end_of_string(text, opening);
        }
        deepest
    }

    /// Reads the value as `T`.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match without_white_space(raw.get()) {
            None => Ok(Self(raw)),
            Some(text) => RawValue::from_string(text).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// `text` without the white space outside strings, or nothing when it has none: one value is one
/// line, so that JSON lines stay lines.
fn without_white_space(text: &str) -> Option<String> {
    let mut kept: Option<String> = None;
    let mut from = 0;
    while from < text.len() {
        let opening = text[from..].find('"').map_or(text.len(), |at| from + at);
        let between = &text[from..opening];
        if kept.is_none() && between.bytes().any(is_space) {
            // Everything before was kept as it is.
            kept = Some(text[..from].to_owned());
        }
        let end = end_of_string(text, opening);
        if let Some(kept) = &mut kept {
            kept.extend(between.split([' ', '\n', '\r', '\t']));
            kept.push_str(&text[opening..end]);
        }
        from = end;
    }
    kept
}

/// The place behind the JSON string that opens at `opening`. Searching for quotes is many times
/// faster than looking at every byte, and most of a payload is in strings.
pub fn end_of_string(text: &str, opening: usize) -> usize {
    let mut from = opening + 1;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find('"')) {
        let quote = from + at;
        let escapes = text[opening + 1..quote].bytes().rev().take_while(|byte| *byte == b'\\');
        if escapes.count() % 2 == 0 {
            return quote + 1;
        }
        from = quote + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> String {
        RawJson::parse("data", text, 1_000).unwrap().as_str().to_owned()
    }

    #[test]
    fn values_keep_their_spelling_and_lose_only_space_between_tokens() {
        for (given, kept) in [
            (" { \"b\" : 1.00, \"a\" : [ ] } ", r#"{"b":1.00,"a":[]}"#),
            (r#""a \" b\\" "#, r#""a \" b\\""#),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#),
            (r#""\ud800 \u0000""#, r#""\ud800 \u0000""#),
            ("null", "null"),
        ] {
            assert_eq!(parsed(given), kept);
        }
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[{}],"b":[]}"#, 3),
            (r#""[[\"[[""#, 0),
            (r#"["\\",[]]"#, 2),
        ] {
            assert_eq!(RawJson::parse("data", text, 1_000).unwrap().depth(), depth, "{text}");
        }
    }

    #[test]
    fn stored_text_that_is_no_json_is_handed_back_as_it_was() {
        assert_eq!(RawJson::from_stored("not json".to_owned()), Err("not json".to_owned()));
        let read = RawJson::from_stored("{ \"a b\" : 1 }".to_owned()).unwrap();
        assert_eq!(read.as_str(), r#"{"a b":1}"#);
    }

    #[test]
    fn what_is_not_one_json_value_is_refused_by_field() {
        for bad in ["", "{", "{} {}", "\"\u{0}\"", "nul", "{\"a\":}", "'x'"] {
            let error = RawJson::parse("data", bad, 1_000).unwrap_err();
            assert_eq!(error.field, "data", "{bad:?}");
        }
        assert!(RawJson::parse("data", "[1,2,3]", 3).unwrap_err().reason.contains("at most 3"));
    }

    proptest! {
        #[test]
        fn white_space_is_taken_out_of_any_value_and_nothing_else(
            texts in prop::collection::vec(".*", 0..5),
        ) {
            let value = serde_json::json!({ "a b": texts, "n": [1, { "x": texts }] });
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            let dense = serde_json::to_string(&value).unwrap();
            prop_assert_eq!(without_white_space(&dense), None);
            prop_assert_eq!(without_white_space(&spaced), Some(dense));
        }

        #[test]
        fn any_text_survives_as_a_json_string(text in ".*") {
            let json = serde_json::to_string(&text).unwrap();
            let raw = RawJson::parse("data", &format!(" {json}\n"), 1 << 20).unwrap();
            prop_assert_eq!(raw.as_str(), &json);
            prop_assert_eq!(raw.read::<String>().unwrap(), text);
        }
    }
}
