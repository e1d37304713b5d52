//! What must not be stored is taken out before the hash is made, and listed.

use std::borrow::Cow;

use serde::Serialize;

use crate::Bundle;
use crate::json::{Object, Path, Value};

/// Raw traffic may hold anything.
const BODIES: [&str; 4] = ["request_body", "response_body", "raw_request", "raw_response"];
const OMITTED: &str = "<omitted>";

/// Something that was taken out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Redacted {
    /// Where it stood.
    pub path: Path,
    /// Why it was taken out.
    pub rule: String,
}

/// Takes secrets and raw bodies out of a bundle; its own hashes and ids stay as they are.
pub(crate) fn redact(bundle: &mut Bundle) -> Vec<Redacted> {
    let mut found = Vec::new();
    let root = Path::default();
    for (key, field) in [
        ("tool_version", &mut bundle.tool_version),
        ("model_id", &mut bundle.model_id),
        ("base_url", &mut bundle.base_url),
    ] {
        text(field, None, &root.key(key), &mut found);
    }
    let prompts = root.key("prompts");
    for (role, prompt) in bundle.prompts.iter_mut().flat_map(Object::iter_mut) {
        // A role is no name of a secret: a prompt may be about tokens.
        any(prompt, None, &prompts.key(role), &mut found);
    }
    for key in ["prep_settings", "context", "tool_caps", "custom"] {
        if let Some(Some(map)) = bundle.map_mut(key) {
            object(map, &root.key(key), &mut found);
        }
    }
    object(&mut bundle.unknown, &root, &mut found);
    found
}

fn object(members: &mut Object, path: &Path, found: &mut Vec<Redacted>) {
    for (key, value) in members.iter_mut() {
        let path = path.key(key);
        let is_body = BODIES.iter().any(|body| body.eq_ignore_ascii_case(key));
        if !is_body {
            any(value, Some(key), &path, found);
        } else if value.as_str() != Some(OMITTED) {
            // What was left out before is no finding of this save.
            *value = Value::from(OMITTED);
            found.push(Redacted { path, rule: "raw-body".to_owned() });
        }
    }
}

/// Redacts a value that stands under `key`; the elements of a list stand there as well.
fn any(value: &mut Value, key: Option<&str>, path: &Path, found: &mut Vec<Redacted>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(string) => text(string, key, path, found),
        Value::Array(elements) => {
            for (index, element) in elements.iter_mut().enumerate() {
                any(element, key, &path.index(index), found);
            }
        }
        Value::Object(members) => object(members, path, found),
    }
}

/// By the redactor that everything shares.
fn text(text: &mut String, key: Option<&str>, path: &Path, found: &mut Vec<Redacted>) {
    let clean = ah_model::redact::value(key, text);
    let rules = clean.findings.iter().map(|finding| finding.rule.to_owned());
    found.extend(rules.map(|rule| Redacted { path: path.clone(), rule }));
    if let Cow::Owned(clean) = clean.text {
        *text = clean;
    }
}
