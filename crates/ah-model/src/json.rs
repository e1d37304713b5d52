//! JSON that is kept as it was written: numbers, key order, unknown keys and escapes survive.

use std::cmp::Ordering;
use std::fmt;

use memchr::memchr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::Invalid;

/// One valid JSON value as text, without white space between tokens.
#[derive(Clone)]
pub struct RawJson {
    value: Box<RawValue>,
    /// Whether it was looked through for secrets and has none. No part of the value: who has looked
    /// ahead of a writer spares it the look.
    is_clean: bool,
}

impl RawJson {
    fn new(value: Box<RawValue>) -> Self {
        Self { value, is_clean: false }
    }

    /// The same, looked through for secrets: a writer that takes them out need not look again.
    #[must_use]
    pub fn looked_through(mut self) -> Self {
        let looked = crate::redact::checked_json(self.as_str());
        self.is_clean = looked.is_ok_and(|redacted| redacted.findings.is_empty());
        self
    }

    /// Whether it is known to hold no secret.
    pub(crate) fn is_clean(&self) -> bool {
        self.is_clean
    }

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
            .map(Self::new)
            .map_err(|error| Invalid::new("data", error.to_string()))
    }

    /// Wraps text that a store wrote after parsing it; damaged text is handed back.
    pub fn from_stored(text: String) -> Result<Self, String> {
        // What other programs wrote may hold white space: one value is still one line.
        let dense = without_white_space(&text);
        serde_json::from_str(dense.as_deref().unwrap_or(&text)).map(Self::new).map_err(|_| text)
    }

    /// The JSON value `null`.
    pub fn null() -> Self {
        Self::new(RawValue::NULL.to_owned())
    }

    /// The JSON value `{}`.
    pub fn empty_object() -> Self {
        Self::of(&serde_json::Map::new()).unwrap_or_else(|_| Self::null())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        self.value.get()
    }

    /// How deep its arrays and objects are nested; 0 for a plain value.
    pub fn depth(&self) -> usize {
        let text = self.as_str();
        let (mut depth, mut deepest, mut from) = (0_usize, 0, 0);
        while from < text.len() {
            let opening = opening(text, from);
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

    /// The value, borrowed.
    pub fn slice(&self) -> JsonSlice<'_> {
        JsonSlice(self.as_str())
    }

    /// Reads the value as `T`.
    pub fn read<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

/// A JSON value inside of a [`RawJson`]: valid, without white space between tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonSlice<'a>(&'a str);

/// One `"key":value` of an object, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonMember<'a> {
    /// The key with its quotes.
    pub key: &'a str,
    /// The value.
    pub value: &'a str,
}

impl JsonMember<'_> {
    /// Whether `name` is the key, however that is spelled.
    pub fn is(&self, name: &str) -> bool {
        // An escape is longer than what it stands for: only a longer key may be the same.
        match self.key.len().cmp(&(name.len() + 2)) {
            Ordering::Less => false,
            Ordering::Equal => self.key.get(1..self.key.len() - 1) == Some(name),
            Ordering::Greater => {
                self.key.contains('\\')
                    && serde_json::from_str::<String>(self.key).is_ok_and(|key| key == name)
            }
        }
    }
}

impl<'a> JsonSlice<'a> {
    /// The JSON text.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// A value of its own.
    pub fn to_raw(self) -> RawJson {
        // It is part of a valid value, so it is one.
        serde_json::from_str(self.0).map_or_else(|_| RawJson::null(), RawJson::new)
    }

    /// The members of an object, repeated keys included; nothing when it is none.
    pub fn members(self) -> Option<Vec<JsonMember<'a>>> {
        let inner = self.0.strip_prefix('{')?.strip_suffix('}')?;
        let (mut members, mut key) = (Vec::new(), "");
        split(inner, |byte, from, to| {
            match byte {
                b':' => key = &inner[from..to],
                _ if key.is_empty() => {}
                _ => members.push(JsonMember { key, value: &inner[from..to] }),
            }
            true
        });
        Some(members)
    }

    /// The elements of a list; nothing when it is none, or has more than `max`.
    pub fn elements(self, max: usize) -> Option<Vec<Self>> {
        let inner = self.0.strip_prefix('[')?.strip_suffix(']')?;
        let mut elements = Vec::new();
        if !inner.is_empty() {
            split(inner, |byte, from, to| {
                if byte == b',' {
                    elements.push(Self(&inner[from..to]));
                }
                elements.len() <= max
            });
        }
        (elements.len() <= max).then_some(elements)
    }

    /// The texts and numbers in it, in order and however deep, without the keys.
    pub(crate) fn plain_values(self) -> impl Iterator<Item = &'a str> {
        let (text, mut from) = (self.0, 0);
        std::iter::from_fn(move || {
            loop {
                let is_plain = |byte: &u8| matches!(byte, b'"' | b'-' | b'0'..=b'9');
                let begin = from + text.as_bytes().get(from..)?.iter().position(is_plain)?;
                from = match text[begin..].starts_with('"') {
                    true => end_of_string(text, begin),
                    false => {
                        text[begin..].find([',', ']', '}']).map_or(text.len(), |at| begin + at)
                    }
                };
                if !text[from..].starts_with(':') {
                    return Some(&text[begin..from]);
                }
            }
        })
    }

    /// The object, to look things up in; an empty one when it is none.
    pub fn object(self) -> JsonObject<'a> {
        JsonObject(self.members().unwrap_or_default())
    }
}

/// The members of an object, to be looked up by key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonObject<'a>(Vec<JsonMember<'a>>);

impl<'a> JsonObject<'a> {
    /// The value of the first of `names` that the object has and that is not `null`; of a repeated
    /// key the last, as JavaScript reads it.
    pub fn get(&self, names: &[&str]) -> Option<JsonSlice<'a>> {
        names.iter().find_map(|name| {
            let found = self.0.iter().rev().find(|member| member.is(name))?;
            (found.value != "null").then_some(JsonSlice(found.value))
        })
    }

    /// The values of all keys.
    pub fn values(&self) -> impl Iterator<Item = JsonSlice<'a>> {
        self.0.iter().map(|member| JsonSlice(member.value))
    }
}

/// Calls `part` with each stretch of `inner` that a `:` or `,` outside strings and brackets ends,
/// and with the last one, as if a `,` did; until it says no more.
fn split(inner: &str, mut part: impl FnMut(u8, usize, usize) -> bool) {
    let (mut start, mut depth, mut from) = (0, 0_usize, 0);
    while from < inner.len() {
        let opening = opening(inner, from);
        for (at, byte) in (from..).zip(inner[from..opening].bytes()) {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth = depth.saturating_sub(1),
                b':' | b',' if depth == 0 => {
                    if !part(byte, start, at) {
                        return;
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        from = end_of_string(inner, opening);
    }
    part(b',', start, inner.len());
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match without_white_space(raw.get()) {
            None => Ok(Self::new(raw)),
            Some(text) => {
                RawValue::from_string(text).map(Self::new).map_err(serde::de::Error::custom)
            }
        }
    }
}

/// Reads a value that is there: `null` is a value too, and only an absent one is none.
pub(crate) fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
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
        let opening = opening(text, from);
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

/// The place of the first string from `from` on.
fn opening(text: &str, from: usize) -> usize {
    memchr(b'"', &text.as_bytes()[from..]).map_or(text.len(), |at| from + at)
}

/// The place behind the string that opens at `opening`. Searching for quotes is many times faster
/// than looking at every byte, and most of a payload is in strings.
pub(crate) fn end_of_string(text: &str, opening: usize) -> usize {
    let mut from = opening + 1;
    let bytes = text.as_bytes();
    while let Some(at) = bytes.get(from..).and_then(|rest| memchr(b'"', rest)) {
        let quote = from + at;
        let escapes = bytes[opening + 1..quote].iter().rev().take_while(|byte| **byte == b'\\');
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
    fn objects_and_lists_are_taken_apart_without_being_read() {
        let json = RawJson::parse(
            "data",
            r#"{"a":[1,{"b":"],"}],"b\\":"x:,","a":null,"\u0063":{},"\ud800":1}"#,
            1_000,
        )
        .unwrap();
        let members = json.slice().members().unwrap();
        let shown: Vec<_> = members.iter().map(|m| (m.key, m.value)).collect();
        assert_eq!(
            shown,
            [
                (r#""a""#, r#"[1,{"b":"],"}]"#),
                (r#""b\\""#, r#""x:,""#),
                (r#""a""#, "null"),
                (r#""\u0063""#, "{}"),
                (r#""\ud800""#, "1"),
            ]
        );
        let get = |names: &[&str]| json.slice().object().get(names).map(JsonSlice::as_str);
        assert_eq!(
            (get(&["a"]), get(&["x", "c"]), get(&["b\\"])),
            (None, Some("{}"), Some(r#""x:,""#))
        );
        let list = JsonSlice(members[0].value);
        assert_eq!(list.elements(2).unwrap().len(), 2);
        assert_eq!(list.elements(1), None);
        assert_eq!(list.members(), None);
        let empty = RawJson::parse("data", r#"[[],{}]"#, 100).unwrap();
        let parts = empty.slice().elements(9).unwrap();
        assert_eq!((parts[0].elements(9), parts[1].members()), (Some(vec![]), Some(vec![])));
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
        fn any_object_is_put_together_from_its_members(
            pairs in prop::collection::vec((".*", ".*"), 0..6),
        ) {
            let text = |text: &str| serde_json::to_string(text).unwrap();
            let members = pairs.iter().map(|(key, value)| {
                format!("{}:[{},{{}}]", text(key), text(value))
            });
            let json = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
            let raw = RawJson::parse("data", &json, usize::MAX).unwrap();
            let members = raw.slice().members().unwrap();
            let again = members.iter().map(|m| format!("{}:{}", m.key, m.value));
            prop_assert_eq!(format!("{{{}}}", again.collect::<Vec<_>>().join(",")), json);
            for (member, (_, value)) in members.iter().zip(&pairs) {
                let elements = JsonSlice(member.value).elements(2).unwrap();
                prop_assert_eq!(elements[0].to_raw().read::<String>().unwrap(), value.clone());
            }
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
