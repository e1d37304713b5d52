//! The members of a JSON object as they were written, so that taking some out leaves every other
//! byte: numbers, escapes, the order of keys, and keys that stand there twice.

use ah_model::limits::PROMPT_BYTES_MAX;
use ah_model::{JsonMember, JsonText, RawJson, Timestamp};

/// An object, member by member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawObject<'a> {
    members: Vec<JsonMember<'a>>,
}

impl<'a> RawObject<'a> {
    /// The members of `json`, or nothing when it is no object.
    pub(crate) fn of(json: &'a RawJson) -> Option<Self> {
        json.slice().members().map(|members| Self { members })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member of that key; the last one if there are several, as JavaScript reads it.
    pub(crate) fn find(&self, name: &str) -> Option<JsonMember<'a>> {
        self.members.iter().rev().find(|member| member.is(name)).copied()
    }

    /// The text of that key, if its value is one.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        exact_text(self.find(name)?.value)
    }

    /// Takes the member that [`Self::find`] finds out of the object.
    pub(crate) fn take(&mut self, name: &str) -> Option<JsonMember<'a>> {
        let place = self.members.iter().rposition(|member| member.is(name))?;
        Some(self.members.remove(place))
    }

    /// Gives the member of that key another key.
    pub(crate) fn rename(&mut self, name: &str, key: &'a str) {
        if let Some(member) = self.members.iter_mut().rev().find(|member| member.is(name)) {
            member.key = key;
        }
    }

    /// Puts a member at the end; `key` has its quotes.
    pub(crate) fn push(&mut self, key: &'a str, value: &'a str) {
        self.members.push(JsonMember { key, value });
    }

    /// The object's text.
    pub(crate) fn to_text(&self) -> String {
        let bytes: usize = self.members.iter().map(|m| m.key.len() + m.value.len() + 2).sum();
        let mut text = String::with_capacity(bytes + 2);
        text.push('{');
        for (place, member) in self.members.iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            text.push_str(member.key);
            text.push(':');
            text.push_str(member.value);
        }
        text.push('}');
        text
    }

    /// The object as a value.
    pub(crate) fn to_json(&self) -> RawJson {
        json_of(self.to_text())
    }
}

/// JSON text put together here; it is valid because its parts are.
pub(crate) fn json_of(text: String) -> RawJson {
    RawJson::from_stored(text).unwrap_or_else(|_| RawJson::null())
}

/// The text of a JSON string, or nothing when no text can be it.
pub(crate) fn exact_text(value: &str) -> Option<String> {
    serde_json::from_str(value).ok()
}

/// The text of a JSON string; half a surrogate pair becomes the replacement character.
pub(crate) fn lossy_text(value: &str) -> Option<String> {
    let plain = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
    if let Some(text) = plain.filter(|text| !text.contains('\\')) {
        return Some(text.to_owned());
    }
    let json = RawJson::parse("text", value, usize::MAX).ok()?;
    JsonText::of_json(json).map(|text| text.to_string())
}

/// `text` without NUL and not longer than a prompt may be.
pub(crate) fn storable(text: &str) -> String {
    let mut text = text.replace('\0', "\u{fffd}");
    text.truncate(text.floor_char_boundary(PROMPT_BYTES_MAX));
    text
}

/// A time of another program, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The time, which is all that the value says.
    Exact(Timestamp),
    /// The nearest time before a value that is no whole number of milliseconds or out of range.
    Rounded(Timestamp),
    /// No time.
    Absent,
}

impl Moment {
    /// Reads a JSON value.
    pub(crate) fn of(value: Option<&str>) -> Self {
        let Some(value) = value else {
            return Self::Absent;
        };
        if let Ok(ms) = value.parse::<i64>() {
            let time = Timestamp::from_unix_ms(ms);
            // `-0` and years beyond 9999 are not what the time alone would say.
            let exact = time.unix_ms() == ms && ms.to_string() == value;
            return if exact { Self::Exact(time) } else { Self::Rounded(time) };
        }
        if !value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return Self::Absent;
        }
        value.parse::<f64>().map_or(Self::Absent, Self::of_float)
    }

    /// The whole milliseconds of `ms`.
    pub(crate) fn of_float(ms: f64) -> Self {
        Self::Rounded(Timestamp::from_unix_ms(ms as i64))
    }

    pub(crate) fn time(self) -> Option<Timestamp> {
        match self {
            Self::Exact(time) | Self::Rounded(time) => Some(time),
            Self::Absent => None,
        }
    }

    pub(crate) fn is_exact(self) -> bool {
        matches!(self, Self::Exact(_))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse("data", text, usize::MAX).unwrap()
    }

    #[test]
    fn what_is_left_keeps_every_byte() {
        for (given, kept) in [
            (r#"{"type":"a","at":1}"#, "{}"),
            (
                r#"{"x":1.00,"type":"a","x":{"type":"b"},"at":1,"y":"\ud800"}"#,
                r#"{"x":1.00,"x":{"type":"b"},"y":"\ud800"}"#,
            ),
            (r#"{"type":1,"type":"a","at":1,"z":[{"at":2}]}"#, r#"{"type":1,"z":[{"at":2}]}"#),
            (
                r#"{"ty\u0070e":"a","\u0061t":1,"a,t":":","b":"\",\":"}"#,
                r#"{"a,t":":","b":"\",\":"}"#,
            ),
            (r#"{"a":{},"b":[],"type":"","at":""}"#, r#"{"a":{},"b":[]}"#),
            ("{}", "{}"),
        ] {
            let given = json(given);
            let mut object = RawObject::of(&given).unwrap();
            object.take("type");
            object.take("at");
            assert_eq!(object.to_text(), kept);
        }
        assert_eq!(RawObject::of(&json("[]")), None);
        assert_eq!(RawObject::of(&json("\"{}\"")), None);
    }

    #[test]
    fn times_are_exact_only_when_nothing_else_was_said() {
        let at = Timestamp::from_unix_ms;
        for (value, moment) in [
            (Some("1771200000000"), Moment::Exact(at(1_771_200_000_000))),
            (Some("-1"), Moment::Exact(at(-1))),
            (Some("-0"), Moment::Rounded(at(0))),
            (Some("1771200000001.9"), Moment::Rounded(at(1_771_200_000_001))),
            (Some("1.7e12"), Moment::Rounded(at(1_700_000_000_000))),
            (Some("9223372036854775807"), Moment::Rounded(Timestamp::MAX)),
            (Some("1e999"), Moment::Rounded(Timestamp::MAX)),
            (Some("\"1771200000000\""), Moment::Absent),
            (Some("null"), Moment::Absent),
            (None, Moment::Absent),
        ] {
            assert_eq!(Moment::of(value), moment, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn an_object_is_put_together_as_it_was(pairs in prop::collection::vec((".*", ".*"), 0..6)) {
            let members = pairs.iter().map(|(key, value)| {
                let text = |text: &str| serde_json::to_string(text).unwrap();
                format!("{}:[{}]", text(key), text(value))
            });
            let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
            let given = json(&text);
            prop_assert_eq!(RawObject::of(&given).unwrap().to_text(), text);
        }
    }
}
