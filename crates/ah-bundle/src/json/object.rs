//! Members of a JSON object, sorted by key.

use serde::{Serialize, Serializer};

use super::{DEPTH_MAX, VALUES_MAX, Value};

/// Members sorted by the bytes of their keys, each key once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Object(Vec<(String, Value)>);

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.place(key).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    /// The value of `key`, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.place(key).ok().and_then(|at| self.0.get_mut(at)).map(|(_, value)| value)
    }

    /// Sets `key`, whether it is there or not.
    pub fn insert(&mut self, key: String, value: Value) {
        match self.place(&key) {
            Ok(at) => {
                if let Some(member) = self.0.get_mut(at) {
                    member.1 = value;
                }
            }
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// The members, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The members, by key, to change their values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Adds its values to `values`, and says which limit of the parser it passes where it is nested
    /// `depth` deep itself.
    pub(crate) fn measure(&self, depth: usize, values: &mut usize) -> Result<(), &'static str> {
        measure(self.0.iter().map(|(_, value)| value), depth, values)
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.as_str().cmp(key))
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
        Self(members)
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
