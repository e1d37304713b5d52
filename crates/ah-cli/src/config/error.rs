//! What can be wrong with configuration, said with file, line and value.

use std::io;
use std::path::PathBuf;

use super::origin::{Layer, Place};
use super::schema;
use crate::environment::EnvironmentError;

/// Why configuration could not be read, resolved or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A file is not TOML.
    #[error("{}:{line}:{column}: {reason}", .path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, reason: String },
    /// A file sets a key there is not.
    #[error("{place}: unknown key {key:?}{}", did_you_mean(.key))]
    UnknownKeyIn { place: Place, key: String },
    /// A command names a key there is not.
    #[error("unknown key {key:?}{}", did_you_mean(.key))]
    UnknownKey { key: String },
    /// A value its key does not allow.
    #[error("{place}: {key} must be {expected}{}", not(.found))]
    Mismatch { place: Place, key: &'static str, expected: String, found: Option<String> },
    /// A value for a key that cannot be set in this way.
    #[error("{key} must be {expected}, not {found}")]
    UnfitValue { key: &'static str, expected: String, found: String },
    /// A table of keys has a value of its own.
    #[error("{place}: {section} must be a table, not {found}")]
    NotATable { place: Place, section: String, found: String },
    /// A key stands in a file it must not be in.
    #[error("{place}: {key} is not allowed in the {layer} file")]
    Misplaced { place: Place, key: &'static str, layer: Layer },
    /// `remote-server` is neither URL nor known name.
    #[error("{place}: unknown server {name:?} ({})", known_servers(.known))]
    UnknownServer { place: Place, name: String, known: Vec<String> },
    /// The file named by `--config` is not there.
    #[error("--config file {} does not exist", .path.display())]
    Missing { path: PathBuf },
    /// A file is there and cannot be read.
    #[error("{} cannot be read", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file is too large to be configuration.
    #[error("{} is larger than {bytes_max} bytes", .path.display())]
    TooLarge { path: PathBuf, bytes_max: u64 },
    /// The key is the system file's to decide.
    #[error("{key} is enforced by {system}")]
    Enforced { key: &'static str, system: Place },
    /// The layer has no file here.
    #[error("there is no {layer} file to change{}", why_no_file(*.layer))]
    NoFile { layer: Layer },
    /// A file could not be changed.
    #[error("{} cannot be written", .path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A path cannot be told.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
}

fn not(found: &Option<String>) -> String {
    let not = found.as_ref().map(|found| format!(", not {found}"));
    not.unwrap_or_default()
}

fn did_you_mean(key: &str) -> String {
    let meant = schema::suggestion(key).map(|meant| format!(" (did you mean {meant:?}?)"));
    meant.unwrap_or_default()
}

fn known_servers(known: &[String]) -> String {
    if known.is_empty() {
        return "no [[server]] is configured".to_owned();
    }
    format!("known: {}", known.join(", "))
}

fn why_no_file(layer: Layer) -> &'static str {
    match layer {
        Layer::ProjectUser | Layer::Project => ": not in a repository",
        Layer::User => ": no home directory is known",
        Layer::Flag | Layer::ConfigFile | Layer::Environment | Layer::System | Layer::Default => "",
    }
}
