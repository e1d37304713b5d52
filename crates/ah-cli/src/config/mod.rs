//! Configuration: typed settings from flags, files and variables, strongest layer first.
//!
//! flags > `--config` > environment > project-user > project > user > system > default. Tables
//! merge key by key, lists are replaced. A key the system file lists as `enforced` is decided by
//! system and default alone. Every value knows its place. Loading reads at most five small files,
//! of which usually none or one exists, and fails on anything it does not understand.

mod agent_kind;
mod atomic;
mod edit;
mod error;
mod explain;
mod file;
mod origin;
mod prices;
mod program;
#[cfg(test)]
mod reference;
mod schema;
mod settings;
#[cfg(test)]
mod tests;
mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use atomic::{Access, write, write_private};
pub(crate) use edit::Removed;
pub(crate) use error::ConfigError;
pub(crate) use explain::Explained;
pub(crate) use origin::{Layer, Place};
pub(crate) use prices::own_prices;
#[cfg(test)]
pub(crate) use reference::reference;
pub(crate) use schema::{KEYS, Key, OTHER_VARIABLES};
pub(crate) use settings::{Color, Durability, LogLevel};
pub(crate) use value::Value;

use crate::environment::{Environment, EnvironmentError};

/// Files of a project, below its root.
const PROJECT_FILE: &str = ".agents/config.toml";
const PROJECT_USER_FILE: &str = ".agents/config.user.toml";

/// What configuration is made from.
pub(crate) struct Sources<'a> {
    /// Variables, and the paths of system and user files.
    pub(crate) environment: &'a Environment,
    /// Settings given as flags of the command.
    pub(crate) flags: Vec<FlagSetting>,
    /// The `--config` file.
    pub(crate) config_file: Option<&'a Path>,
    /// Root of the repository whose project files count.
    pub(crate) repo_root: Option<&'a Path>,
}

/// A setting given on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlagSetting {
    /// The flag as typed: `--remote-server`.
    pub(crate) flag: &'static str,
    /// The key it sets.
    pub(crate) key: &'static str,
    /// Its value as typed.
    pub(crate) value: String,
}

/// All layers, read and checked.
#[derive(Debug)]
pub(crate) struct Config {
    /// One per layer but the default, strongest first.
    layers: Vec<LayerEntries>,
}

/// A value that counts, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<'a> {
    /// The value.
    pub(crate) value: &'a Value,
    /// The layer that set it.
    pub(crate) layer: Layer,
    /// Where it is written; defaults are nowhere.
    pub(crate) place: Option<&'a Place>,
}

#[derive(Debug)]
struct LayerEntries {
    layer: Layer,
    /// The layer's file, whether or not it exists.
    path: Option<Arc<PathBuf>>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    key: &'static Key,
    value: Value,
    place: Place,
}

impl Config {
    /// Reads every layer.
    pub(crate) fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let mut files = Self::files(sources)?;
        let mut read = |layer| {
            let at = files.iter().position(|(of, _)| *of == layer);
            LayerEntries::read(layer, at.map(|at| files.swap_remove(at).1))
        };
        let layers = vec![
            LayerEntries::of(Layer::Flag, flags(&sources.flags)?),
            read(Layer::ConfigFile)?,
            LayerEntries::of(Layer::Environment, variables(sources.environment)?),
            read(Layer::ProjectUser)?,
            read(Layer::Project)?,
            read(Layer::User)?,
            read(Layer::System)?,
        ];
        Ok(Self { layers })
    }

    /// The value of a key by name; `None` when no layer sets it and it has no default.
    pub(crate) fn get(&self, path: &str) -> Result<Option<Setting<'_>>, ConfigError> {
        Ok(self.setting(known_key(path)?))
    }

    /// The value of a key.
    pub(crate) fn setting(&self, key: &'static Key) -> Option<Setting<'_>> {
        let enforced = self.is_enforced(key);
        let counting = self.layers.iter().filter(|l| !enforced || l.layer == Layer::System);
        let mut found = counting.filter_map(|layer| Some((layer.layer, layer.entry(key)?)));
        let set = found.next().map(|(layer, entry)| Setting {
            value: &entry.value,
            layer,
            place: Some(&entry.place),
        });
        let default =
            key.default.as_ref().map(|value| Setting { value, layer: Layer::Default, place: None });
        set.or(default)
    }

    /// The files that count, strongest first, whether or not they exist; none of them is read.
    pub(crate) fn files(sources: &Sources<'_>) -> Result<Vec<(Layer, PathBuf)>, ConfigError> {
        let environment = sources.environment;
        let config_file = sources.config_file.map(|path| environment.absolute(path));
        let project = |name| sources.repo_root.map(|root| root.join(name));
        let files = [
            (Layer::ConfigFile, config_file.transpose()?),
            (Layer::ProjectUser, project(PROJECT_USER_FILE)),
            (Layer::Project, project(PROJECT_FILE)),
            (Layer::User, user_path(environment)?),
            (Layer::System, Some(environment.system_config_path()?)),
        ];
        Ok(files.into_iter().filter_map(|(layer, path)| Some((layer, path?))).collect())
    }

    /// The file of a layer, whether or not it exists; `None` where the layer has no file here.
    fn path(&self, layer: Layer) -> Option<&Path> {
        let found = self.layers.iter().find(|entries| entries.layer == layer)?;
        found.path.as_deref().map(PathBuf::as_path)
    }

    /// Whether the system file alone decides this key.
    fn is_enforced(&self, key: &Key) -> bool {
        self.enforced_at(key).is_some()
    }

    /// Where the system file enforces a key, if it does.
    pub(crate) fn enforced_at(&self, key: &Key) -> Option<&Place> {
        let system = self.layers.iter().find(|layer| layer.layer == Layer::System)?;
        let list = system.entries.iter().find(|entry| entry.key.path == "enforced")?;
        match &list.value {
            Value::Texts(paths) if paths.iter().any(|path| path == key.path) => Some(&list.place),
            Value::Texts(_)
            | Value::Text(_)
            | Value::Integer(_)
            | Value::Boolean(_)
            | Value::Servers(_)
            | Value::Programs(_)
            | Value::AgentKinds(_) => None,
        }
    }
}

impl LayerEntries {
    fn of(layer: Layer, entries: Vec<Entry>) -> Self {
        Self { layer, path: None, entries }
    }

    /// Reads a file that may be absent, unless it was asked for by name.
    fn read(layer: Layer, path: Option<PathBuf>) -> Result<Self, ConfigError> {
        let Some(path) = path else {
            return Ok(Self::of(layer, Vec::new()));
        };
        let entries = match file::read(&path)? {
            Some(text) => file::parse(&path, layer, &text)?,
            None if layer == Layer::ConfigFile => return Err(ConfigError::Missing { path }),
            None => Vec::new(),
        };
        Ok(Self { layer, path: Some(Arc::new(path)), entries })
    }

    fn entry(&self, key: &Key) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.path == key.path)
    }
}

/// The key of this name, or an error with the name that was probably meant.
fn known_key(path: &str) -> Result<&'static Key, ConfigError> {
    schema::find(path).ok_or_else(|| ConfigError::UnknownKey { key: path.to_owned() })
}

/// Without a home there is no user file; whoever needs the home itself will say so.
fn user_path(environment: &Environment) -> Result<Option<PathBuf>, ConfigError> {
    match environment.user_config_path() {
        Ok(path) => Ok(Some(path)),
        Err(EnvironmentError::NoHome { .. }) => Ok(None),
        Err(error @ EnvironmentError::NoCurrentDirectory) => Err(error.into()),
    }
}

fn flags(flags: &[FlagSetting]) -> Result<Vec<Entry>, ConfigError> {
    let entry = |flag: &FlagSetting| {
        let place = Place::Flag(flag.flag);
        text_entry(known_key(flag.key)?, &flag.value, place)
    };
    flags.iter().map(entry).collect()
}

fn variables(environment: &Environment) -> Result<Vec<Entry>, ConfigError> {
    let mut entries = Vec::new();
    for key in &schema::KEYS {
        let Some(name) = key.variable() else { continue };
        let Some(value) = environment.var_os(&name) else {
            continue;
        };
        let text = value.to_str().ok_or_else(|| ConfigError::Mismatch {
            place: Place::Variable(name.clone()),
            key: key.path,
            expected: "valid UTF-8".to_owned(),
            found: Some(format!("{value:?}")),
        })?;
        entries.push(text_entry(key, text, Place::Variable(name))?);
    }
    Ok(entries)
}

fn text_entry(key: &'static Key, text: &str, place: Place) -> Result<Entry, ConfigError> {
    match Value::from_text(key.kind, text) {
        Ok(value) => Ok(Entry { key, value, place }),
        Err(expected) => Err(ConfigError::Mismatch {
            place,
            key: key.path,
            expected,
            found: Some(format!("{text:?}")),
        }),
    }
}
