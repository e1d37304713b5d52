//! What differs between two bundles, by path.

use serde::Serialize;

use crate::Bundle;
use crate::json::{Object, Path, Value};

/// A value that is not the same in both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Where it stands.
    pub path: Path,
    /// The value before; nothing when there was none, which is not `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; nothing when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What changed from one bundle to the other, down to single values.
pub fn diff(before: &Bundle, after: &Bundle) -> Vec<Change> {
    let mut changes = Vec::new();
    let all = |bundle: &Bundle| {
        let members = bundle.members().into_iter();
        members.map(|(key, member)| (key.to_owned(), member.to_value())).collect::<Object>()
    };
    objects(&Path::default(), &all(before), &all(after), &mut changes);
    changes
}

fn objects(path: &Path, before: &Object, after: &Object, changes: &mut Vec<Change>) {
    let mut keys: Vec<&str> = before.iter().chain(after.iter()).map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        values(&path.key(key), before.get(key), after.get(key), changes);
    }
}

fn values(path: &Path, before: Option<&Value>, after: Option<&Value>, changes: &mut Vec<Change>) {
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            objects(path, before, after, changes);
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                values(&path.index(index), before.get(index), after.get(index), changes);
            }
        }
        (before, after) if before == after => {}
        (before, after) => {
            let (before, after) = (before.cloned(), after.cloned());
            changes.push(Change { path: path.clone(), before, after });
        }
    }
}
