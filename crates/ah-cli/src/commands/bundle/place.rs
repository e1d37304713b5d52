//! Which directory, and which scope in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ah_bundle::{StateDir, scope_key, toolset_hash};

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::input::read_text;

/// Largest manifest of tools that is read.
const TOOLS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How many scopes an error names.
const SCOPES_NAMED: usize = 3;

/// The state directory.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The directory of the bundles; without it `bundle.state-dir` of the configuration
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl Place {
    pub(crate) fn open(&self, app: &App) -> Result<StateDir, CommandError> {
        let configured = match &self.state_dir {
            Some(_) => None,
            None => app.config()?.bundle_state_dir(),
        };
        match self.state_dir.as_deref().or(configured.map(Path::new)) {
            Some(path) => state_dir(app, path),
            None => Err(CommandError::new(Exit::Usage, "no state directory is named")
                .hint("name one with `--state-dir DIR`, or set AH_BUNDLE_STATE_DIR")
                .hint("`ah config set bundle.state-dir DIR` names one for good")),
        }
    }
}

/// The directory at `path`, which need not be there.
pub(crate) fn state_dir(app: &App, path: &Path) -> Result<StateDir, CommandError> {
    if path.as_os_str().is_empty() {
        return Err(CommandError::new(Exit::Usage, "the name of the state directory is empty")
            .hint("name one with `--state-dir DIR`"));
    }
    // A slash at the end would have the system follow a symbolic link.
    let path: PathBuf = app.environment.absolute(path)?.components().collect();
    Ok(StateDir::new(path))
}

/// What a bundle is for.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) model_id: String,
    pub(crate) base_url: String,
    pub(crate) toolset_hash: String,
    pub(crate) scope: String,
}

impl Identity {
    pub(crate) fn new(
        model_id: &str,
        base_url: &str,
        tools: Option<&str>,
        scope: Option<&str>,
    ) -> Self {
        let toolset_hash = tools.map(|text| toolset_hash(text.as_bytes())).unwrap_or_default();
        let default = || scope_key(model_id, base_url, &toolset_hash);
        Self {
            scope: scope.map_or_else(default, str::to_owned),
            model_id: model_id.to_owned(),
            base_url: base_url.to_owned(),
            toolset_hash,
        }
    }
}

/// The manifest of the tools.
pub(crate) fn read_tools(file: &Path) -> Result<String, CommandError> {
    read_text("tools", file, TOOLS_BYTES_MAX)
}

/// A scope by its name, or by what it follows from.
#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// The scope; without it the one of --model, --base-url and --tools
    #[arg(long, value_name = "SCOPE", value_parser = not_blank)]
    pub(crate) scope: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL", value_parser = not_blank)]
    pub(crate) model: Option<String>,
    /// The address of the model's server
    #[arg(long, value_name = "URL", value_parser = not_blank)]
    pub(crate) base_url: Option<String>,
    /// The manifest of the tools, as a file
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
}

impl ScopeArgs {
    /// The scope that the flags name, if they do.
    pub(crate) fn chosen(&self) -> Result<Option<String>, CommandError> {
        match (&self.scope, &self.model, &self.base_url) {
            (Some(scope), _, _) => Ok(Some(scope.clone())),
            (None, Some(model), Some(base_url)) => {
                let tools = self.tools.as_deref().map(read_tools).transpose()?;
                Ok(Some(Identity::new(model, base_url, tools.as_deref(), None).scope))
            }
            (None, None, None) if self.tools.is_none() => Ok(None),
            _ => Err(CommandError::new(
                Exit::Usage,
                "a scope follows from --model and --base-url together",
            )
            .hint(
                "give both, and --tools if the scope has tools; or name it with `--scope SCOPE`",
            )),
        }
    }

    /// The scope that the flags name, else the only one there is.
    pub(crate) fn required(&self, dir: &StateDir) -> Result<String, CommandError> {
        if let Some(scope) = self.chosen()? {
            return Ok(scope);
        }
        let listed = dir.list()?;
        let scopes: BTreeSet<String> = listed.into_iter().filter_map(|one| one.scope).collect();
        let place = dir.path().display();
        let mut first = scopes.iter();
        match (first.next(), scopes.len()) {
            (Some(only), 1) => Ok(only.clone()),
            (None, _) => Err(CommandError::new(
                Exit::NotFound,
                format!("{place} holds no bundle that can be read"),
            )
            .hint(format!("`ah bundle verify --state-dir {place}` shows what is there"))),
            (Some(_), count) => {
                let named: Vec<&str> =
                    scopes.iter().take(SCOPES_NAMED).map(String::as_str).collect();
                let more = if count > SCOPES_NAMED { ", …" } else { "" };
                let message = format!("{place} holds {count} scopes: {}{more}", named.join(", "));
                Err(CommandError::new(Exit::Usage, message)
                    .hint("name one with `--scope SCOPE`, or with `--model` and `--base-url`"))
            }
        }
    }
}

/// A text that says something.
pub(crate) fn not_blank(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it is blank".to_owned()),
        false => Ok(text.to_owned()),
    }
}
