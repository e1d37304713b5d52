//! A state bundle of version 1: every key of the original, and the unknown ones.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::Problem;
use crate::json::{Member, Members, Object, Parser, Value, encode_members};
use crate::sha::{scope_key, source_hash};
use crate::time::CreatedAt;

/// The only version there is.
pub(crate) const VERSION: &str = "1";

/// The known keys, in the order they are written.
const KEYS: [&str; 14] = [
    "version",
    "created_at",
    "tool_version",
    "model_id",
    "base_url",
    "toolset_hash",
    "scope_key",
    "prompts",
    "prep_settings",
    "context",
    "tool_caps",
    "custom",
    "source_hash",
    "prev_sha",
];

/// Prompts and settings of one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundle {
    /// When it was saved. A save writes its own.
    pub created_at: String,
    /// The program that made it.
    pub tool_version: String,
    /// The model it is for.
    pub model_id: String,
    /// The address of the model.
    pub base_url: String,
    /// The hash of the tools, or empty.
    pub toolset_hash: String,
    /// The scope it belongs to.
    pub scope_key: String,
    /// Prompts by role; every value is a string.
    pub prompts: Option<Object>,
    /// Settings of the pre-stage.
    pub prep_settings: Option<Object>,
    /// What the pre-stage knew.
    pub context: Option<Object>,
    /// What the tools may do.
    pub tool_caps: Option<Object>,
    /// Anything else.
    pub custom: Option<Object>,
    /// What it was made from, as a hash. A save writes its own.
    pub source_hash: String,
    /// The hash of its parent's stored bytes, or empty. A save writes its own.
    pub prev_sha: String,
    /// Keys that version 1 does not know, kept as they are.
    pub unknown: Object,
}

impl Bundle {
    /// An empty bundle in the scope that follows from its model, address and tools.
    pub fn new(model_id: &str, base_url: &str, toolset_hash: &str) -> Self {
        Self {
            model_id: model_id.to_owned(),
            base_url: base_url.to_owned(),
            toolset_hash: toolset_hash.to_owned(),
            scope_key: scope_key(model_id, base_url, toolset_hash),
            ..Self::default()
        }
    }

    /// Reads a stored bundle and checks it as the original does. Names of keys may be written in
    /// any case; of repeated ones the last holds.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        Self::parse_shared(&Arc::new(bytes.to_vec()))
    }

    /// As [`Self::parse`]; maps stay parts of the text until they are looked at.
    pub(crate) fn parse_shared(bytes: &Arc<Vec<u8>>) -> Result<Self, Problem> {
        let (bundle, version) = read(bytes)?;
        match version.as_deref() {
            Some(VERSION) => {}
            found => return Err(Problem::WrongVersion { found: found.unwrap_or("").to_owned() }),
        }
        bundle.check()?;
        Ok(bundle)
    }

    /// Reads what somebody wrote to be saved: a save fills in version, times and hashes, and a
    /// scope that is left out follows from model, address and tools.
    pub fn draft(bytes: &[u8]) -> Result<Self, Problem> {
        let (mut bundle, version) = read(&Arc::new(bytes.to_vec()))?;
        if let Some(found) = version.filter(|version| version != VERSION) {
            return Err(Problem::WrongVersion { found });
        }
        if bundle.scope_key.is_empty() {
            bundle.scope_key = scope_key(&bundle.model_id, &bundle.base_url, &bundle.toolset_hash);
        }
        Ok(bundle)
    }

    /// The bytes to store: the original's layout, unknown keys after its own.
    pub fn encode(&self) -> String {
        encode_members(&self.members())
    }

    /// All members in the order they are written.
    pub(crate) fn members(&self) -> Vec<(&str, Member<'_>)> {
        let values = [
            Member::Text(VERSION),
            Member::Text(&self.created_at),
            Member::Text(&self.tool_version),
            Member::Text(&self.model_id),
            Member::Text(&self.base_url),
            Member::Text(&self.toolset_hash),
            Member::Text(&self.scope_key),
            Member::Map(self.prompts.as_ref()),
            Member::Map(self.prep_settings.as_ref()),
            Member::Map(self.context.as_ref()),
            Member::Map(self.tool_caps.as_ref()),
            Member::Map(self.custom.as_ref()),
            Member::Text(&self.source_hash),
            Member::Text(&self.prev_sha),
        ];
        let known = KEYS.into_iter().zip(values);
        // The first snapshot of a chain has no such key.
        let known = known.filter(|(key, _)| *key != "prev_sha" || !self.prev_sha.is_empty());
        let unknown = self.unknown.iter().map(|(key, value)| (key, Member::Other(value)));
        known.chain(unknown).collect()
    }

    /// Whether a reader would take what is written: the types, the limits and what
    /// [`Self::check`] asks.
    pub(crate) fn check_storable(&self) -> Result<(), Problem> {
        self.check()?;
        if let Some((key, _)) = self.unknown.iter().find(|(key, _)| known_key(key).is_some()) {
            return Err(invalid(key, "it is another spelling of a known key"));
        }
        let mut prompts = self.prompts.iter().flat_map(Object::iter);
        if let Some((role, prompt)) = prompts.find(|(_, prompt)| prompt.as_str().is_none()) {
            return Err(no_prompt(role, prompt));
        }
        let maps =
            [&self.prompts, &self.prep_settings, &self.context, &self.tool_caps, &self.custom];
        let maps = maps.into_iter().flatten().map(|map| (map, 2));
        let mut values = KEYS.len();
        for (object, depth) in maps.chain([(&self.unknown, 1)]) {
            object.measure(depth, &mut values).map_err(|reason| invalid("bundle", reason))?;
        }
        Ok(())
    }

    /// What the original asks of a bundle.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if CreatedAt::parse(&self.created_at).is_none() {
            let reason = format!("{:?} is not an RFC 3339 time", self.created_at);
            return Err(invalid("created_at", &reason));
        }
        let needed = [
            ("model_id", &self.model_id),
            ("base_url", &self.base_url),
            ("scope_key", &self.scope_key),
        ];
        match needed.iter().find(|(_, value)| value.is_empty()) {
            Some((key, _)) => Err(invalid(key, "it is empty")),
            None => Ok(()),
        }
    }

    /// When it was saved, to be compared.
    pub(crate) fn time(&self) -> Option<CreatedAt> {
        CreatedAt::parse(&self.created_at)
    }

    /// Sets what a save decides.
    pub(crate) fn seal(&mut self, created_at: CreatedAt, prev_sha: String) {
        self.created_at = created_at.to_string();
        self.prev_sha = prev_sha;
        self.source_hash =
            source_hash(&self.model_id, &self.base_url, &self.toolset_hash, &self.scope_key);
    }

    /// The map of that name, if the name is one of a map.
    pub(crate) fn map_mut(&mut self, key: &str) -> Option<&mut Option<Object>> {
        match key {
            "prompts" => Some(&mut self.prompts),
            "prep_settings" => Some(&mut self.prep_settings),
            "context" => Some(&mut self.context),
            "tool_caps" => Some(&mut self.tool_caps),
            "custom" => Some(&mut self.custom),
            _ => None,
        }
    }
}

impl Serialize for Bundle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let members = self.members();
        let mut map = serializer.serialize_map(Some(members.len()))?;
        for (key, value) in &members {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// The spelling of a known key, however it is written.
pub(crate) fn known_key(key: &str) -> Option<&'static str> {
    // The two characters outside ASCII that Go folds to a letter.
    let folded = |character: char| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    KEYS.into_iter().find(|known| known.chars().eq(key.chars().map(folded)))
}

/// The bundle of a text and the version it gives, checked for types only.
fn read(bytes: &Arc<Vec<u8>>) -> Result<(Bundle, Option<String>), Problem> {
    let mut parser = Parser::new(bytes);
    let mut members = Vec::new();
    let mut open = parser.begin_object()?;
    while open {
        let key = parser.key()?;
        let value = match known_key(&key) {
            Some("prompts") => parser.unread(bytes, Members::Strings)?,
            Some("prep_settings" | "context" | "tool_caps" | "custom") => {
                parser.unread(bytes, Members::Any)?
            }
            _ => parser.value()?,
        };
        members.push((key, value));
        open = parser.more_members()?;
    }
    parser.end()?;
    let (mut bundle, mut version) = (Bundle::default(), None);
    let mut unknown = Vec::new();
    for (key, value) in members {
        match known_key(&key) {
            None => unknown.push((key, value)),
            Some("version") => version = Some(text("version", value)?),
            Some(known) => bundle.take(known, value)?,
        }
    }
    bundle.unknown = unknown.into_iter().collect();
    Ok((bundle, version))
}

impl Bundle {
    fn take(&mut self, key: &'static str, value: Value) -> Result<(), Problem> {
        if let Some(map) = self.map_mut(key) {
            *map = match (key, object(key, value)?) {
                // One that is still text was seen to hold strings only.
                ("prompts", Some(prompts)) if !prompts.is_unread() => Some(strings(prompts)?),
                (_, map) => map,
            };
            return Ok(());
        }
        let field = match key {
            "created_at" => &mut self.created_at,
            "tool_version" => &mut self.tool_version,
            "model_id" => &mut self.model_id,
            "base_url" => &mut self.base_url,
            "toolset_hash" => &mut self.toolset_hash,
            "scope_key" => &mut self.scope_key,
            "source_hash" => &mut self.source_hash,
            _ => &mut self.prev_sha,
        };
        *field = text(key, value)?;
        Ok(())
    }
}

/// A string; `null` is an empty one, as it is to the original.
fn text(key: &'static str, value: Value) -> Result<String, Problem> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        other => Err(invalid(key, &format!("it is {}, not a string", other.kind()))),
    }
}

fn object(key: &'static str, value: Value) -> Result<Option<Object>, Problem> {
    match value {
        Value::Object(object) => Ok(Some(object)),
        Value::Null => Ok(None),
        other => Err(invalid(key, &format!("it is {}, not an object", other.kind()))),
    }
}

/// Prompts, where `null` is an empty one.
fn strings(mut prompts: Object) -> Result<Object, Problem> {
    for (role, prompt) in prompts.iter_mut() {
        match prompt {
            Value::String(_) => {}
            Value::Null => *prompt = Value::from(""),
            other => return Err(no_prompt(role, other)),
        }
    }
    Ok(prompts)
}

fn no_prompt(role: &str, found: &Value) -> Problem {
    invalid("prompts", &format!("the prompt {role:?} is {}, not a string", found.kind()))
}

fn invalid(key: &str, reason: &str) -> Problem {
    Problem::Invalid { key: key.to_owned(), reason: reason.to_owned() }
}
