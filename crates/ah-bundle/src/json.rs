//! JSON as bundles need it: numbers stay as they were written, keys are sorted by their bytes.
//!
//! `serde_json` would round numbers or, with the feature against that, change every other crate of
//! a build. The parser is bounded in depth and in how many values it makes, so that what it takes
//! from memory is bounded by its input.

mod encode;
mod object;
mod parse;
mod path;
mod runs;
mod skim;

use serde::{Serialize, Serializer};

pub use object::Object;
pub(crate) use parse::Parser;
pub use parse::{DEPTH_MAX, JsonError, VALUES_MAX};
pub use path::{Part, Path};
pub(crate) use skim::Members;

/// Any JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`, which is not the same as absent.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(Number),
    /// A text.
    String(String),
    /// A list.
    Array(Vec<Self>),
    /// Members, sorted by key.
    Object(Object),
}

/// A number with the digits it was written with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number(Box<str>);

impl Number {
    /// The text of the number.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value {
    /// Reads one value and nothing after it. Of repeated keys the last one holds.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let mut parser = Parser::new(bytes);
        let value = parser.value()?;
        parser.end()?;
        Ok(value)
    }

    /// The text with two spaces of indent and no line end, as the original writes it.
    pub fn encode(&self) -> String {
        let mut text = Vec::new();
        encode::value(self, 0, &mut text);
        encode::text(text)
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

/// A member of a struct of the original, borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Member<'a> {
    Text(&'a str),
    /// Nothing is `null`.
    Map(Option<&'a Object>),
    Other(&'a Value),
}

impl Member<'_> {
    /// How many bytes the texts of a map have.
    fn texts_bytes(&self) -> Option<usize> {
        let Self::Map(Some(map)) = self else { return None };
        Some(map.iter().filter_map(|(_, value)| value.as_str()).map(str::len).sum())
    }

    pub(crate) fn to_value(self) -> Value {
        match self {
            Self::Text(text) => Value::from(text),
            Self::Map(map) => map.cloned().map_or(Value::Null, Value::Object),
            Self::Other(value) => value.clone(),
        }
    }
}

/// The members in the order they are given, as the original writes the keys of a struct.
pub(crate) fn encode_members(members: &[(&str, Member<'_>)]) -> String {
    // Prompts are nearly all of a bundle, and to make room for them bit by bit is to copy them.
    let texts = members.iter().filter_map(|(_, member)| member.texts_bytes()).sum::<usize>();
    let mut text = Vec::with_capacity(texts + texts / 8);
    encode::members(members, &mut text);
    encode::text(text)
}

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Map(map) => map.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => members.serialize(serializer),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = serde_json::value::RawValue::from_string(self.0.to_string());
        raw.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
