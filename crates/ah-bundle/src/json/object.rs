//! Members of a JSON object, sorted by key.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};

use super::{DEPTH_MAX, Parser, VALUES_MAX, Value};

/// Members sorted by the bytes of their keys, each key once.
///
/// One that was read from a stored bundle is kept as text until somebody looks at its members: most
/// bundles are only passed on.
#[derive(Clone, Default)]
pub struct Object {
    /// Nothing where there is a text.
    members: Vec<(String, Value)>,
    text: Option<Box<Text>>,
}

/// The text of an object, known to be right.
#[derive(Clone)]
struct Text {
    whole: Arc<Vec<u8>>,
    range: Range<usize>,
    members: OnceLock<Vec<(String, Value)>>,
}

impl Text {
    fn members(&self) -> &Vec<(String, Value)> {
        self.members.get_or_init(|| {
            let text = self.whole.get(self.range.clone()).unwrap_or_default();
            // It was passed over before, so that it is no error.
            Object::from(Parser::new(text).members().unwrap_or_default()).members
        })
    }
}

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The object that stands at `range`, which a parser takes.
    pub(super) fn unread(whole: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        let text = Text { whole, range, members: OnceLock::new() };
        Self { members: Vec::new(), text: Some(Box::new(text)) }
    }

    /// Whether it is still text.
    pub(crate) fn is_unread(&self) -> bool {
        self.text.is_some()
    }

    fn members(&self) -> &Vec<(String, Value)> {
        self.text.as_ref().map_or(&self.members, |text| text.members())
    }

    fn members_mut(&mut self) -> &mut Vec<(String, Value)> {
        if let Some(text) = self.text.take() {
            text.members();
            self.members = text.members.into_inner().unwrap_or_default();
        }
        &mut self.members
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.place(key).ok().and_then(|at| self.members().get(at)).map(|(_, value)| value)
    }

    /// The value of `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.place(key).ok().and_then(|at| self.members_mut().get_mut(at)).map(|(_, value)| value)
    }

    /// Sets `key`, whether it is there or not.
    pub fn insert(&mut self, key: String, value: Value) {
        match self.place(&key) {
            Ok(at) => {
                if let Some(member) = self.members_mut().get_mut(at) {
                    member.1 = value;
                }
            }
            Err(at) => self.members_mut().insert(at, (key, value)),
        }
    }

    /// The members, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.members().iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The members, by key, to change their values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.members_mut().iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Adds its values to `values`, and says which limit of the parser it passes where it is nested
    /// `depth` deep itself.
    pub(crate) fn measure(&self, depth: usize, values: &mut usize) -> Result<(), &'static str> {
        measure(self.members().iter().map(|(_, value)| value), depth, values)
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.members().binary_search_by(|(other, _)| other.as_str().cmp(key))
    }
}

fn measure<'a>(
    inside: impl Iterator<Item = &'a Value>,
    depth: usize,
    values: &mut usize,
) -> Result<(), &'static str> {
    if depth > DEPTH_MAX {
        return Err("it is nested too deep");
    }
    for value in inside {
        *values += 1;
        if *values > VALUES_MAX {
            return Err("it has too many values");
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(elements) => measure(elements.iter(), depth + 1, values)?,
            Value::Object(members) => members.measure(depth + 1, values)?,
        }
    }
    Ok(())
}

impl From<Vec<(String, Value)>> for Object {
    /// Of repeated keys the last one holds.
    fn from(mut members: Vec<(String, Value)>) -> Self {
        if !members.is_sorted_by(|(before, _), (after, _)| before < after) {
            // The sort is stable: reversed first, the last of equal keys is the one that is kept.
            members.reverse();
            members.sort_by(|(before, _), (after, _)| before.cmp(after));
            members.dedup_by(|(after, _), (before, _)| after == before);
        }
        Self { members, text: None }
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.members() == other.members()
    }
}

impl Eq for Object {}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        Self::from(members.into_iter().collect::<Vec<_>>())
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}
