//! Layers and places: where a value comes from.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The layers, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// A flag of the command.
    Flag,
    /// The file named by `--config`.
    ConfigFile,
    /// An `AH_*` variable.
    Environment,
    /// `.agents/config.user.toml`, one person's own for this project.
    ProjectUser,
    /// `.agents/config.toml`, shared with the project.
    Project,
    /// The user's file.
    User,
    /// The machine's file.
    System,
    /// What the program does when nobody says anything.
    Default,
}

impl Layer {
    /// The word printed.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::ConfigFile => "--config",
            Self::Environment => "environment",
            Self::ProjectUser => "project-user",
            Self::Project => "project",
            Self::User => "user",
            Self::System => "system",
            Self::Default => "default",
        }
    }

    /// Whether the layer's file may have come with a clone.
    pub(crate) fn is_project(self) -> bool {
        matches!(self, Self::Project | Self::ProjectUser)
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where exactly a value was written, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In a file; without a line when the file does not set the key.
    File { path: Arc<PathBuf>, line: Option<usize> },
    /// In a variable.
    Variable(String),
    /// On the command line.
    Flag(&'static str),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line: None } => write!(f, "{}", path.display()),
            Self::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}
