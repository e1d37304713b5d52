//! Where a value stands in a bundle: `prompts.developer`, `tool_caps["fs.read"]`, `context.list[0]`.

use std::fmt;
use std::str::FromStr;

use ah_model::Invalid;
use serde::{Serialize, Serializer};

use super::{Parser, Value};

/// A way from the whole bundle down to one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<Part>);

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Into the member of an object.
    Key(String),
    /// Into the element of a list, from 0.
    Index(usize),
}

impl Path {
    /// The steps.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// This path and the key below it.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.and(Part::Key(key.to_owned()))
    }

    /// This path and the element below it.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.and(Part::Index(index))
    }

    fn and(&self, part: Part) -> Self {
        Self(self.0.iter().cloned().chain([part]).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            match part {
                Part::Index(index) => write!(f, "[{index}]")?,
                Part::Key(key) if is_plain(key) && at == 0 => f.write_str(key)?,
                Part::Key(key) if is_plain(key) => write!(f, ".{key}")?,
                Part::Key(key) => write!(f, "[{}]", Value::from(key.as_str()).encode())?,
            }
        }
        Ok(())
    }
}

/// Whether a key needs no quotes in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '[', ']', '"', '=']) && !key.contains(char::is_control)
}

impl FromStr for Path {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let wrong = || {
            let reason =
                format!("{text:?} is no path; write prompts.developer or tool_caps[\"fs.read\"]");
            Invalid::new("path", reason)
        };
        let (mut parts, mut rest) = (Vec::new(), text);
        while !rest.is_empty() {
            let (part, after) = step(rest, parts.is_empty()).ok_or_else(wrong)?;
            parts.push(part);
            rest = after;
        }
        if parts.is_empty() { Err(wrong()) } else { Ok(Self(parts)) }
    }
}

/// The first step of `text` and what follows it.
fn step(text: &str, first: bool) -> Option<(Part, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        if inner.starts_with('"') {
            let (key, after) = quoted(inner)?;
            return Some((Part::Key(key), after.strip_prefix(']')?));
        }
        let (index, after) = inner.split_once(']')?;
        return Some((Part::Index(index.parse().ok()?), after));
    }
    let text = if first { text } else { text.strip_prefix('.')? };
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (key, after) = text.split_at_checked(end)?;
    is_plain(key).then(|| (Part::Key(key.to_owned()), after))
}

/// The JSON string at the beginning of `text` and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut escaped = false;
    let closing = text.char_indices().skip(1).find(|(_, character)| {
        let closes = *character == '"' && !escaped;
        escaped = *character == '\\' && !escaped;
        closes
    });
    let (inside, after) = text.split_at_checked(closing?.0 + 1)?;
    let mut parser = Parser::new(inside.as_bytes());
    let key = parser.value().ok()?.as_str()?.to_owned();
    Some((key, after))
}

impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
