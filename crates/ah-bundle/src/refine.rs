//! Refining: the next bundle of a scope, made from the one before.

use std::str::FromStr;

use ah_model::{Invalid, Timestamp};

use crate::bundle::known_key;
use crate::json::{Object, Part, Path, Value};
use crate::{Bundle, BundleError, Saved, StateDir};

/// The prompt that a refinement is added to.
const DEVELOPER: &str = "developer";
/// What a path may begin with, for messages.
const SETTABLE: &str = "prompts, prep_settings, context, tool_caps, custom, or a key of your own";

/// What is to be changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Text to add to the developer's prompt; blank for none.
    pub text: String,
    /// Values to set, in order.
    pub settings: Vec<Setting>,
}

/// One value to set: `prep_settings.temperature=0.2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// What is set.
    pub path: Path,
    /// The value as it was given: JSON, or else a text.
    pub value: String,
}

impl FromStr for Setting {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut quoted = false;
        let equals = text.char_indices().find(|(_, character)| {
            quoted ^= *character == '"';
            *character == '=' && !quoted
        });
        let parts = equals.and_then(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
        let Some((path, value)) = parts else {
            let reason = format!("{text:?} has no value; write prep_settings.temperature=0.2");
            return Err(Invalid::new("set", reason));
        };
        Ok(Self { path: path.trim().parse()?, value: value.to_owned() })
    }
}

impl StateDir {
    /// Saves the head of a scope with changes, as its child. Refinements of many processes at once
    /// are all kept.
    pub fn refine(
        &self,
        scope: &str,
        refinement: &Refinement,
        now: Timestamp,
    ) -> Result<Saved, BundleError> {
        let dir = self.open()?;
        // What cannot be refined must not leave a lock file behind.
        self.load(scope)?;
        self.commit(&dir, scope, now, |parent| {
            let nothing = || BundleError::NothingForScope {
                dir: self.path().to_owned(),
                scope: scope.to_owned(),
                scopes: Vec::new(),
            };
            let mut bundle = parent.ok_or_else(nothing)?.bundle;
            bundle.refine(refinement)?;
            Ok(bundle)
        })
    }
}

impl Bundle {
    /// Adds the text and sets the values; everything else stays.
    pub fn refine(&mut self, refinement: &Refinement) -> Result<(), Invalid> {
        for setting in &refinement.settings {
            self.set(&setting.path, &setting.value)?;
        }
        if !refinement.text.trim().is_empty() {
            let prompts = self.prompts.get_or_insert_default();
            let old = prompts.get(DEVELOPER).and_then(Value::as_str).unwrap_or_default();
            let parts = [old.trim(), refinement.text.trim()];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            prompts.insert(DEVELOPER.to_owned(), Value::String(parts.join("\n\n")));
        }
        Ok(())
    }

    /// Sets one value, given as JSON or else as a text; objects on the way are made. What a bundle is
    /// known by cannot be set.
    pub fn set(&mut self, path: &Path, value: &str) -> Result<(), Invalid> {
        let parsed = Value::parse(value.as_bytes()).unwrap_or_else(|_| Value::from(value));
        let Some((Part::Key(first), below)) = path.parts().split_first() else {
            return Err(refused(path, &format!("it must begin with {SETTABLE}")));
        };
        let Some(known) = known_key(first) else {
            let mut all = Value::Object(std::mem::take(&mut self.unknown));
            let put = put(&mut all, path.parts(), parsed, path);
            if let Value::Object(unknown) = all {
                self.unknown = unknown;
            }
            return put;
        };
        let Some(map) = self.map_mut(known) else {
            return Err(refused(path, why_fixed(known)));
        };
        // A prompt is always a text, whatever it looks like.
        let parsed = match (known, below, parsed) {
            ("prompts", [Part::Key(_)], Value::String(text)) => Value::String(text),
            ("prompts", [Part::Key(_)], _) => Value::from(value),
            (_, _, parsed) => parsed,
        };
        let mut whole = Value::Object(map.clone().unwrap_or_default());
        put(&mut whole, below, parsed, path)?;
        *map = match whole {
            Value::Object(members) if known != "prompts" || all_strings(&members) => Some(members),
            Value::Null => None,
            _ if known == "prompts" => return Err(refused(path, "every prompt must be a text")),
            _ => return Err(refused(path, &format!("{known} must be an object or null"))),
        };
        Ok(())
    }
}

/// Puts `value` where `parts` lead to.
fn put(whole: &mut Value, parts: &[Part], value: Value, path: &Path) -> Result<(), Invalid> {
    let Some((first, below)) = parts.split_first() else {
        *whole = value;
        return Ok(());
    };
    match (whole, first) {
        (Value::Object(members), Part::Key(key)) => {
            if members.get(key).is_none() {
                let made = if below.is_empty() { Value::Null } else { Object::new().into() };
                members.insert(key.clone(), made);
            }
            match members.get_mut(key) {
                Some(member) => put(member, below, value, path),
                None => Err(refused(path, &format!("there is no {key:?}"))),
            }
        }
        (Value::Array(elements), Part::Index(index)) => {
            if *index == elements.len() && below.is_empty() {
                elements.push(Value::Null);
            }
            let length = elements.len();
            match elements.get_mut(*index) {
                Some(element) => put(element, below, value, path),
                None => Err(refused(path, &format!("the list has {length} elements"))),
            }
        }
        (other, Part::Key(key)) => {
            Err(refused(path, &format!("{} has no member {key:?}", other.kind())))
        }
        (other, Part::Index(index)) => {
            Err(refused(path, &format!("{} has no element {index}", other.kind())))
        }
    }
}

fn all_strings(members: &Object) -> bool {
    members.iter().all(|(_, value)| value.as_str().is_some())
}

fn why_fixed(key: &str) -> &'static str {
    match key {
        "version" | "created_at" | "prev_sha" | "source_hash" => "every save sets it itself",
        "scope_key" => "a bundle stays in its scope; save one with --scope for another",
        _ => "it says what the bundle was made for; save a bundle of its own for another",
    }
}

fn refused(path: &Path, reason: &str) -> Invalid {
    Invalid::new("set", format!("{path} cannot be set: {reason}"))
}

impl From<Object> for Value {
    fn from(members: Object) -> Self {
        Self::Object(members)
    }
}
