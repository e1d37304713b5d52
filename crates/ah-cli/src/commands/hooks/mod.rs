//! `ah hooks`: the hooks of coding agents, in their own settings.

mod drain;
mod edit;
mod install;
mod json_text;
mod remove;
mod settings;
mod status;

use ah_import::HookTool;
use clap::Subcommand;

use self::settings::Scope;
use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Have a coding agent tell what it does, by hooks in its own settings
    Install(Lazy<install::Args>),
    /// Take our hooks out of a coding agent's settings, and nothing else
    Remove(Lazy<remove::Args>),
    /// Show which coding agents tell what they do, and what waits to be brought in
    Status(Lazy<status::Args>),
    /// Bring in what hooks could not write when they were called
    Drain(Lazy<drain::Args>),
}

/// Whose settings.
#[derive(Debug, clap::Args)]
pub(crate) struct WhoseArgs {
    /// The coding agent: claude-code, codex, gemini or goose
    #[arg(value_name = "KIND")]
    kind: HookTool,
    /// In your own settings, for every project; so when nothing is said
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// In the settings of this project, which others may share
    #[arg(long)]
    project: bool,
}

impl WhoseArgs {
    fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Install(args) => install::run(app, &args),
        Command::Remove(args) => remove::run(app, &args),
        Command::Status(args) => status::run(app, &args),
        Command::Drain(args) => drain::run(app, &args),
    }
}
