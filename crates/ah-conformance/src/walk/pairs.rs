//! Which number or minted id of the store stands for which of the oracle's.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde_json::Value;

/// What a number counts; each has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Noun {
    AgentKind,
    Repo,
    Runtime,
    Task,
    Workspace,
    /// The answer has no number of its own.
    None,
}

/// Pairs in the order they appeared, each kept in both directions.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    numbers: TwoWay<(Noun, i64)>,
    minted: TwoWay<String>,
}

#[derive(Debug)]
struct TwoWay<T> {
    theirs: BTreeMap<T, T>,
    ours: BTreeMap<T, T>,
}

impl<T> Default for TwoWay<T> {
    fn default() -> Self {
        Self { theirs: BTreeMap::new(), ours: BTreeMap::new() }
    }
}

impl<T: Ord + Clone> TwoWay<T> {
    /// Whether the two are each other's, from now on if neither was seen before.
    fn pair(&mut self, ours: T, theirs: T) -> bool {
        let first = self.theirs.entry(ours.clone()).or_insert_with(|| theirs.clone());
        let second = self.ours.entry(theirs.clone()).or_insert_with(|| ours.clone());
        *first == theirs && *second == ours
    }
}

impl Pairs {
    /// Whether both answers say the same; `noun` is what a number called `id` counts.
    pub(super) fn agree(&mut self, noun: Noun, ours: &Value, theirs: &Value) -> Result<(), String> {
        self.agree_at("answer", noun, ours, theirs)
    }

    fn agree_at(
        &mut self,
        key: &str,
        noun: Noun,
        ours: &Value,
        theirs: &Value,
    ) -> Result<(), String> {
        let same = match (ours, theirs) {
            (Value::Object(our_fields), Value::Object(their_fields)) => {
                for (key, our_value) in our_fields {
                    let their_value = their_fields.get(key).unwrap_or(&Value::Null);
                    self.agree_at(key, noun, our_value, their_value)?;
                }
                our_fields.len() == their_fields.len()
            }
            (Value::Array(our_items), Value::Array(their_items)) => {
                for (our_item, their_item) in our_items.iter().zip(their_items) {
                    self.agree_at(key, noun, our_item, their_item)?;
                }
                our_items.len() == their_items.len()
            }
            (Value::Number(our_number), Value::Number(their_number)) => {
                let noun = match key {
                    "id" => noun,
                    "repoId" => Noun::Repo,
                    _ => Noun::None,
                };
                match (noun, our_number.as_i64(), their_number.as_i64()) {
                    (Noun::None, ..) | (_, None, _) | (_, _, None) => our_number == their_number,
                    (_, Some(a), Some(b)) => self.numbers.pair((noun, a), (noun, b)),
                }
            }
            (Value::String(a), Value::String(b)) if is_minted(a) && is_minted(b) => {
                self.minted.pair(a.clone(), b.clone())
            }
            (_, _) => ours == theirs,
        };
        if same {
            return Ok(());
        }
        Err(format!("{key} differs: {ours} here, {theirs} there"))
    }

    /// The oracle's name for what the store calls `theirs`.
    pub(super) fn ours(&self, theirs: &str) -> String {
        self.minted.ours.get(theirs).map_or(theirs, String::as_str).to_owned()
    }
}

/// A UUIDv7, as only stores make them in a walk.
fn is_minted(text: &str) -> bool {
    let parts: Vec<_> = text.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12]
}

/// Text that may have minted ids in it, cut so that they stand alone.
pub(super) fn cut_ids(text: &str) -> Value {
    const LENGTH: usize = 36;
    let mut parts = Vec::new();
    let mut rest = text;
    let found = |text: &str, at: usize| {
        text.get(at..at + LENGTH).is_some_and(|part| {
            is_minted(part) && part.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
        })
    };
    while let Some(at) = (0..rest.len()).find(|at| found(rest, *at)) {
        parts.extend([Value::from(&rest[..at]), Value::from(&rest[at..at + LENGTH])]);
        rest = &rest[at + LENGTH..];
    }
    parts.push(Value::from(rest));
    Value::Array(parts)
}

/// In whose names an operation is asked.
pub(super) enum Names<'a> {
    /// The oracle's, as the operation has them.
    Ours,
    /// The store's own; what it never named is asked for as it is.
    Theirs(&'a Pairs),
}

impl Names<'_> {
    pub(super) fn number(&self, noun: Noun, number: i64) -> i64 {
        match self {
            Names::Ours => number,
            Names::Theirs(pairs) => {
                let pair = pairs.numbers.theirs.get(&(noun, number));
                pair.map_or(number, |(_, theirs)| *theirs)
            }
        }
    }

    /// Text that may have minted ids in it.
    pub(super) fn in_text(&self, text: &str) -> String {
        let Value::Array(parts) = cut_ids(text) else { return text.to_owned() };
        parts.iter().filter_map(Value::as_str).map(|part| self.id(&part.to_owned())).collect()
    }

    /// The id of any kind.
    pub(super) fn id<T: FromStr + ToString + Clone>(&self, id: &T) -> T {
        match self {
            Names::Ours => id.clone(),
            Names::Theirs(pairs) => {
                let pair = pairs.minted.theirs.get(&id.to_string());
                pair.map_or_else(|| id.clone(), |theirs| theirs.parse().ok().unwrap())
            }
        }
    }
}
