//! Changing a file: one key at a time, comments and layout kept.
//!
//! Invariant: a file is only ever replaced by text that parses and passes the schema. Two writers
//! at once do not damage a file, but the later one wins.

use std::path::Path;

use toml_edit::{Document, DocumentMut, Item, Table, TableLike};

use super::error::ConfigError;
use super::origin::{Layer, Place};
use super::schema::Key;
use super::value::Value;
use super::{Config, atomic, file, known_key};

/// Whether there was anything to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The key was set and is no longer.
    Yes,
    /// The key was not set.
    WasNotSet,
}

impl Config {
    /// Sets a key in the file of `layer`, creating the file if need be, and returns its path.
    pub(crate) fn set(&self, layer: Layer, path: &str, text: &str) -> Result<&Path, ConfigError> {
        let (key, file_path) = self.changeable(layer, path)?;
        let unfit = |expected| ConfigError::UnfitValue {
            key: key.path,
            expected,
            found: format!("{text:?}"),
        };
        let value = Value::from_text(key.kind, text).map_err(unfit)?;
        let value = value.to_toml().ok_or_else(|| unfit("one value".to_owned()))?;
        let old = file::read(file_path)?.unwrap_or_default();
        let document = file::document(file_path, &old)?.into_mut();
        replace(file_path, layer, &with_value(document, key, value))?;
        Ok(file_path)
    }

    /// Removes a key from the file of `layer`; comments around it stay.
    pub(crate) fn unset(&self, layer: Layer, path: &str) -> Result<Removed, ConfigError> {
        let (key, file_path) = self.changeable(layer, path)?;
        let Some(old) = file::read(file_path)? else {
            return Ok(Removed::WasNotSet);
        };
        match without_value(file::document(file_path, &old)?, key) {
            Some(new) => replace(file_path, layer, &new).map(|()| Removed::Yes),
            None => Ok(Removed::WasNotSet),
        }
    }

    /// The key and the file to change, unless somebody else decides about them.
    fn changeable(&self, layer: Layer, path: &str) -> Result<(&'static Key, &Path), ConfigError> {
        let key = known_key(path)?;
        let file_path = self.path(layer).ok_or(ConfigError::NoFile { layer })?;
        if let Some(system) = self.enforced_at(key).filter(|_| layer != Layer::System) {
            return Err(ConfigError::Enforced { key: key.path, system: system.clone() });
        }
        if !file::is_allowed(key.scope, layer) {
            let path = file_path.to_owned().into();
            return Err(ConfigError::Misplaced {
                place: Place::File { path, line: None },
                key: key.path,
                layer,
            });
        }
        Ok((key, file_path))
    }
}

fn replace(path: &Path, layer: Layer, text: &str) -> Result<(), ConfigError> {
    file::parse(path, layer, text)?;
    let access = match layer {
        // Everybody on the machine reads the system file, everybody on the project its file.
        Layer::System | Layer::Project => atomic::Access::Shared,
        Layer::Flag
        | Layer::ConfigFile
        | Layer::Environment
        | Layer::ProjectUser
        | Layer::User
        | Layer::Default => atomic::Access::Private,
    };
    atomic::write(path, access, text)
        .map_err(|source| ConfigError::Unwritable { path: path.to_owned(), source })
}

fn with_value(document: DocumentMut, key: &Key, value: toml_edit::Value) -> String {
    // The comments of a file without keys count as its end; a key is to go below them.
    let (mut new, mut document) = if document.is_empty() {
        (document.to_string(), DocumentMut::new())
    } else {
        (String::new(), document)
    };
    if !new.is_empty() && !new.ends_with('\n') {
        new.push('\n');
    }
    let (section, name) = split(key);
    let table: Option<&mut dyn TableLike> = match section {
        Some(section) => {
            let missing = || Item::Table(Table::new());
            document.entry(section).or_insert_with(missing).as_table_like_mut()
        }
        None => Some(document.as_table_mut()),
    };
    // A section that is no table is left alone, and refused by the check before writing.
    if let Some(table) = table {
        put(table, name, value);
    }
    new.push_str(&document.to_string());
    new
}

/// `TableLike::insert` would drop the comments of an existing key.
fn put(table: &mut dyn TableLike, name: &str, mut value: toml_edit::Value) {
    let Some(item) = table.get_mut(name) else {
        table.insert(name, Item::Value(value));
        return;
    };
    if let Some(old) = item.as_value() {
        *value.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(value);
}

/// The text without the lines of `key`; `None` when it is not there.
fn without_value(document: Document<&str>, key: &Key) -> Option<String> {
    let text = document.raw().to_owned();
    let (section, name) = split(key);
    let table: &dyn TableLike = match section {
        Some(section) => document.get(section)?.as_table_like()?,
        None => document.as_table(),
    };
    let (toml_key, item) = table.get_key_value(name)?;
    let inline = section.is_some_and(|section| document[section].is_inline_table());
    if let (Some(start), Some(end), Item::Value(_), false) =
        (toml_key.span(), item.span(), item, inline)
    {
        return Some(without_lines(&text, start.start, end.end));
    }
    let mut document = document.into_mut();
    let table = match section {
        Some(section) => document.get_mut(section)?.as_table_like_mut()?,
        None => document.as_table_mut(),
    };
    table.remove(name);
    Some(document.to_string())
}

/// Cuts whole lines, so that comments above and below stay where they are.
fn without_lines(text: &str, start: usize, end: usize) -> String {
    let from = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let to = text[end..].find('\n').map_or(text.len(), |newline| end + newline + 1);
    format!("{}{}", &text[..from], &text[to..])
}

/// Table and name of a key; no key is deeper than one table.
fn split(key: &Key) -> (Option<&'static str>, &'static str) {
    match key.path.split_once('.') {
        Some((section, name)) => (Some(section), name),
        None => (None, key.path),
    }
}
