//! `latest.json` and the heads of scopes: small files that name a snapshot and its hash.

use crate::Problem;
use crate::bundle::VERSION;
use crate::json::{Member, Parser, Value, encode_members};
use crate::sha::sha256;

pub(crate) const LATEST: &str = "latest.json";
/// Pointers are small; a head grows with what was pruned below it.
pub(crate) const POINTER_BYTES_MAX: u64 = 1024 * 1024;

/// What a pointer says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The name of the snapshot.
    pub(crate) path: String,
    /// The hash of its bytes, or empty where a foreign writer gave none.
    pub(crate) sha: String,
    /// The scope it is the head of; only in our own files.
    pub(crate) scope: Option<String>,
    /// Parents that were pruned, so that links to them are not broken; only in our own files.
    pub(crate) cut: Vec<String>,
}

impl Pointer {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let mut parser = Parser::new(bytes);
        let members = parser.members()?;
        parser.end()?;
        let (mut pointer, mut version) = (Self::default(), String::new());
        for (key, value) in members {
            match key.to_ascii_lowercase().as_str() {
                "version" => version = string("version", value)?,
                "path" => pointer.path = string("path", value)?,
                "sha256" => pointer.sha = string("sha256", value)?.trim().to_ascii_lowercase(),
                "scope_key" => pointer.scope = Some(string("scope_key", value)?),
                "cut" => pointer.cut = strings("cut", value)?,
                _ => {}
            }
        }
        if version != VERSION {
            return Err(Problem::WrongVersion { found: version });
        }
        if !is_file_name(&pointer.path) {
            return Err(Problem::PathTraversal { path: pointer.path });
        }
        Ok(pointer)
    }

    /// The bytes of a head. Where nothing was pruned they are those of `latest.json`: its name and
    /// its snapshot tell the scope, and one file can have both names.
    pub(crate) fn encode_head(&self) -> String {
        match self.cut.as_slice() {
            [] => self.encode_latest(),
            cut => self.encode(self.scope.as_deref(), cut),
        }
    }

    /// The bytes of `latest.json`, as the original writes it.
    pub(crate) fn encode_latest(&self) -> String {
        self.encode(None, &[])
    }

    fn encode(&self, scope: Option<&str>, cut: &[String]) -> String {
        let cut = Value::Array(cut.iter().map(|sha| Value::from(sha.as_str())).collect());
        let mut members = vec![("version", Member::Text(VERSION))];
        members.extend(scope.map(|scope| ("scope_key", Member::Text(scope))));
        members.push(("path", Member::Text(&self.path)));
        members.push(("sha256", Member::Text(&self.sha)));
        if cut != Value::Array(Vec::new()) {
            members.push(("cut", Member::Other(&cut)));
        }
        encode_members(&members)
    }
}

/// The name of the head of a scope.
pub(crate) fn head_name(scope: &str) -> String {
    format!("head-{}.json", sha256(scope.as_bytes()))
}

/// Whether a file of that name is the head of some scope.
pub(crate) fn is_head_name(name: &str) -> bool {
    name.strip_prefix("head-").and_then(|rest| rest.strip_suffix(".json")).is_some()
}

/// A name in the directory itself. Two dots anywhere are refused, as the original does.
fn is_file_name(path: &str) -> bool {
    !path.is_empty() && path != "." && !path.contains(['/', '\0']) && !path.contains("..")
}

fn string(key: &str, value: Value) -> Result<String, Problem> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        other => Err(wrong_type(key, &other, "a string")),
    }
}

fn strings(key: &str, value: Value) -> Result<Vec<String>, Problem> {
    match value {
        Value::Array(elements) => elements.into_iter().map(|one| string(key, one)).collect(),
        other => Err(wrong_type(key, &other, "a list")),
    }
}

fn wrong_type(key: &str, found: &Value, wanted: &str) -> Problem {
    let reason = format!("it is {}, not {wanted}", found.kind());
    Problem::Invalid { key: key.to_owned(), reason }
}
