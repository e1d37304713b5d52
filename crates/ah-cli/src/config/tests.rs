//! Configuration over real files in a temporary directory.

mod editing;
mod layers;
mod refusals;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::environment::Os;

/// A home, a system file and a repository of their own.
struct World {
    dir: TempDir,
    variables: Vec<(&'static str, String)>,
    flags: Vec<FlagSetting>,
    config_file: Option<PathBuf>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home").to_str().unwrap().to_owned();
        let system = dir.path().join("system.toml").to_str().unwrap().to_owned();
        Self {
            dir,
            variables: vec![("HOME", home), ("AH_SYSTEM_CONFIG", system)],
            flags: Vec::new(),
            config_file: None,
        }
    }

    fn path(&self, layer: Layer) -> PathBuf {
        self.dir.path().join(match layer {
            Layer::ConfigFile => "named.toml",
            Layer::ProjectUser => "repo/.agents/config.user.toml",
            Layer::Project => "repo/.agents/config.toml",
            Layer::User => "home/.config/agent-harbor/config.toml",
            Layer::System => "system.toml",
            Layer::Flag | Layer::Environment | Layer::Default => panic!("{layer} has no file"),
        })
    }

    fn file(mut self, layer: Layer, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(layer);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        if layer == Layer::ConfigFile {
            self.config_file = Some(path);
        }
        self
    }

    fn variable(mut self, name: &'static str, value: &str) -> Self {
        self.variables.push((name, value.to_owned()));
        self
    }

    fn flag(mut self, flag: &'static str, key: &'static str, value: &str) -> Self {
        let value = value.to_owned();
        self.flags.push(FlagSetting { flag, key, value });
        self
    }

    fn load(&self) -> Result<Config, ConfigError> {
        let variables: Vec<_> = self.variables.iter().map(|(n, v)| (*n, v.as_str())).collect();
        Config::load(&Sources {
            environment: &Environment::of(Os::Linux, self.dir.path(), &variables),
            flags: self.flags.clone(),
            config_file: self.config_file.as_deref(),
            repo_root: Some(&self.dir.path().join("repo")),
        })
    }

    fn text(&self, layer: Layer) -> String {
        fs::read_to_string(self.path(layer)).unwrap()
    }

    /// The error of loading, with the temporary directory cut from it.
    #[track_caller]
    fn error(&self) -> String {
        self.cut(&self.load().unwrap_err())
    }

    fn cut(&self, error: &ConfigError) -> String {
        let root = format!("{}/", self.dir.path().display());
        error.to_string().replace(&root, "")
    }
}

impl Config {
    /// A text that no part of the program reads.
    fn task_runner(&self) -> Option<&str> {
        match self.get("repo.task-runner").unwrap()?.value {
            Value::Text(text) => Some(text),
            other => panic!("{other} is no text"),
        }
    }
}

/// The value of a key and the layer it comes from.
#[track_caller]
fn shown(config: &Config, key: &str) -> (String, Layer) {
    let setting = config.get(key).unwrap().unwrap();
    (setting.value.to_string(), setting.layer)
}
