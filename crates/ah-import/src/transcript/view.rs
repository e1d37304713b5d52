//! A JSON object, as far as an import looks into it.

use ah_model::limits::EVENT_TYPE_BYTES_MAX;
use ah_model::{JsonObject, JsonSlice, RawJson, Timestamp};

use crate::raw_object::lossy_text;

/// An object; what is none is an empty one.
#[derive(Debug, Clone, Default)]
pub(crate) struct View<'a>(JsonObject<'a>);

impl<'a> View<'a> {
    pub(crate) fn of(line: &'a RawJson) -> Self {
        Self(line.slice().object())
    }

    pub(crate) fn of_slice(json: JsonSlice<'a>) -> Self {
        Self(json.object())
    }

    pub(crate) fn get(&self, name: &str) -> Option<JsonSlice<'a>> {
        self.0.get(&[name])
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = View<'a>> {
        self.0.values().map(Self::of_slice)
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|value| lossy_text(value.as_str()))
    }

    /// As [`Self::text`], of what can be a part of an id.
    pub(crate) fn id(&self, name: &str) -> Option<String> {
        let fits = |id: &String| {
            (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        self.text(name).filter(fits)
    }

    /// A count; zero when there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.get(name).and_then(|value| value.as_str().parse().ok()).unwrap_or(0)
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.as_str() == "true")
    }

    pub(crate) fn object(&self, name: &str) -> Self {
        self.get(name).map(Self::of_slice).unwrap_or_default()
    }

    pub(crate) fn time(&self) -> Option<Timestamp> {
        self.text("timestamp")?.parse().ok()
    }
}

/// The type of an event that only the program `source` has a word for.
pub(crate) fn foreign(source: &str, kind: &str) -> String {
    let kind = if kind.trim().is_empty() || kind.contains('\0') { "unknown" } else { kind };
    let room = EVENT_TYPE_BYTES_MAX - source.len() - 1;
    let end = (0..=room.min(kind.len())).rev().find(|end| kind.is_char_boundary(*end));
    format!("{source}.{}", &kind[..end.unwrap_or(0)])
}
