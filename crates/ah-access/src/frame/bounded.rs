//! Lists that stop being read when they are too long, and the checks that several bodies share.
//!
//! A short text on the wire can be a large value in memory: a list is bounded while it is read, not
//! afterwards.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use ah_model::{Invalid, check_text};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Refuses text that is empty, too long or cannot be stored.
pub(super) fn check_filled(field: &'static str, text: &str, max: usize) -> Result<(), Invalid> {
    match text.is_empty() {
        true => Err(Invalid::new(field, "must not be empty")),
        false => check_text(field, text, max),
    }
}

/// As [`check_text`] for a value that may be absent.
pub(super) fn check_optional(
    field: &'static str,
    text: Option<&str>,
    max: usize,
) -> Result<(), Invalid> {
    text.map_or(Ok(()), |text| check_text(field, text, max))
}

/// Refuses a number outside of `min` to `max`.
pub(super) fn check_within(
    field: &'static str,
    number: u64,
    (min, max): (u64, u64),
) -> Result<(), Invalid> {
    match (min..=max).contains(&number) {
        true => Ok(()),
        false => Err(Invalid::new(field, format!("{number}, {min} to {max} are allowed"))),
    }
}

/// Refuses a list that could not be read back.
pub(super) fn check_count(field: &'static str, count: usize, max: usize) -> Result<(), Invalid> {
    match count <= max {
        true => Ok(()),
        false => Err(Invalid::new(field, format!("{count} of them, at most {max} are allowed"))),
    }
}

/// Reads a list of at most `MAX`.
pub(super) fn list<'de, D, T, const MAX: usize>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_seq(ListVisitor::<T, MAX>(PhantomData))
}

/// Reads a map of texts with at most `MAX` entries.
pub(super) fn texts<'de, D, const MAX: usize>(from: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    from.deserialize_map(TextsVisitor::<MAX>)
}

struct ListVisitor<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for ListVisitor<T, MAX> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut found = Vec::new();
        while let Some(next) = from.next_element()? {
            if found.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            found.push(next);
        }
        Ok(found)
    }
}

struct TextsVisitor<const MAX: usize>;

impl<'de, const MAX: usize> Visitor<'de> for TextsVisitor<MAX> {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a map of at most {MAX} texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Self::Value, A::Error> {
        let mut found = BTreeMap::new();
        while let Some((name, text)) = from.next_entry()? {
            if found.len() == MAX {
                return Err(A::Error::invalid_length(MAX + 1, &self));
            }
            found.insert(name, text);
        }
        Ok(found)
    }
}
