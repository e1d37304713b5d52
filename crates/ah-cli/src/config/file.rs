//! One file: read, parsed and checked against the schema, each key with its line.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{Document, Item, Key as TomlKey, TableLike, TomlError};

use super::Entry;
use super::error::ConfigError;
use super::origin::{Layer, Place};
use super::schema::{self, Key, Kind, Scope};
use super::value::Value;

/// People write these files; the largest one seen is under 4 KiB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The text of a file, or `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    match read_bytes(path) {
        Ok(bytes) if bytes.len() as u64 > FILE_BYTES_MAX => {
            Err(ConfigError::TooLarge { path: path.to_owned(), bytes_max: FILE_BYTES_MAX })
        }
        Ok(bytes) => utf8(path, bytes).map(Some),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// The TOML in `text`, which was read from `path`.
pub(super) fn document<'a>(path: &Path, text: &'a str) -> Result<Document<&'a str>, ConfigError> {
    Document::parse(text).map_err(|error| syntax(path, text, &error))
}

/// The settings in `text`, which was read from `path` for `layer`.
pub(super) fn parse(path: &Path, layer: Layer, text: &str) -> Result<Vec<Entry>, ConfigError> {
    let document = document(path, text)?;
    let mut reader = Reader { path: Arc::new(path.to_owned()), layer, text, entries: Vec::new() };
    reader.table("", document.as_table())?;
    Ok(reader.entries)
}

struct Reader<'a> {
    path: Arc<PathBuf>,
    layer: Layer,
    text: &'a str,
    entries: Vec<Entry>,
}

impl Reader<'_> {
    fn table(&mut self, section: &str, table: &dyn TableLike) -> Result<(), ConfigError> {
        for (name, item) in table.iter() {
            let place = self.place(table.key(name), item);
            let path = dotted(section, name);
            if let Some(key) = schema::find(&path) {
                self.entry(key, item, place)?;
            } else if schema::is_section(&path) {
                let inner = item.as_table_like().ok_or_else(|| ConfigError::NotATable {
                    place,
                    section: path.clone(),
                    found: with_article(item.type_name()),
                })?;
                self.table(&path, inner)?;
            } else {
                return Err(ConfigError::UnknownKeyIn { place, key: path });
            }
        }
        Ok(())
    }

    fn entry(&mut self, key: &'static Key, item: &Item, place: Place) -> Result<(), ConfigError> {
        if !is_allowed(key.scope, self.layer) {
            return Err(ConfigError::Misplaced { place, key: key.path, layer: self.layer });
        }
        let value = Value::from_toml(key.kind, item).map_err(|mismatch| ConfigError::Mismatch {
            place: mismatch.at.map_or_else(|| place.clone(), |at| self.place_at(at)),
            key: key.path,
            expected: mismatch.expected,
            found: found(key.kind, item),
        })?;
        if let (Scope::SystemOnly, Value::Texts(paths)) = (key.scope, &value) {
            check_known(paths, &place)?;
        }
        self.entries.push(Entry { key, value, place });
        Ok(())
    }

    fn place(&self, key: Option<&TomlKey>, item: &Item) -> Place {
        let span = key.and_then(TomlKey::span).or_else(|| item.span());
        self.place_at(span.map_or(0, |span| span.start))
    }

    fn place_at(&self, offset: usize) -> Place {
        Place::File { path: Arc::clone(&self.path), line: Some(position(self.text, offset).0) }
    }
}

/// Whether a key of `scope` may stand in the file of `layer`.
pub(super) fn is_allowed(scope: Scope, layer: Layer) -> bool {
    match scope {
        Scope::Anywhere => true,
        Scope::NotProject => !layer.is_project(),
        Scope::SystemOnly => layer == Layer::System,
    }
}

/// Every enforced key must exist: a typo there would leave the real one free.
fn check_known(paths: &[String], place: &Place) -> Result<(), ConfigError> {
    match paths.iter().find(|path| schema::find(path).is_none()) {
        Some(unknown) => {
            Err(ConfigError::UnknownKeyIn { place: place.clone(), key: unknown.clone() })
        }
        None => Ok(()),
    }
}

/// A name with a dot in it was quoted, so it is not a path and must not look like one.
fn dotted(section: &str, name: &str) -> String {
    let name = if name.contains('.') { format!("{name:?}") } else { name.to_owned() };
    if section.is_empty() { name } else { format!("{section}.{name}") }
}

/// The offending value as written, or only its type: a text may be a secret in the wrong place.
/// Of a list of tables the expectation itself says what is wrong.
fn found(kind: Kind, item: &Item) -> Option<String> {
    match (kind, item) {
        (Kind::Servers | Kind::Programs | Kind::AgentKinds, _) => None,
        (Kind::Choice(_) | Kind::Agent, Item::Value(toml_edit::Value::String(text))) => {
            Some(format!("{:?}", text.value()))
        }
        (Kind::Integer { .. }, Item::Value(toml_edit::Value::Integer(number))) => {
            Some(number.value().to_string())
        }
        _ => Some(with_article(item.type_name())),
    }
}

pub(super) fn with_article(type_name: &str) -> String {
    let article = if type_name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {type_name}")
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A directory on the way that is a file means the same as one that is missing.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
        let (line, column) = position(&before, valid);
        ConfigError::Syntax {
            path: path.to_owned(),
            line,
            column,
            reason: "not valid UTF-8".to_owned(),
        }
    })
}

fn syntax(path: &Path, text: &str, error: &TomlError) -> ConfigError {
    let (line, column) = position(text, error.span().map_or(0, |span| span.start));
    ConfigError::Syntax {
        path: path.to_owned(),
        line,
        column,
        reason: error.message().trim().replace('\n', ", "),
    }
}

/// Line and column of a byte, both from one.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}
