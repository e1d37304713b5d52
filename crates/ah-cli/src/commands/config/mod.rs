//! `ah config`: settings and where they come from.

mod explain;
mod get;
mod path;
mod set;
mod show;
mod unset;

use clap::Subcommand;

use crate::app::App;
use crate::config::Layer;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show every setting and its layer
    Show(Lazy<show::Args>),
    /// Print the value of a key
    Get(Lazy<get::Args>),
    /// Set a key in a configuration file
    Set(Lazy<set::Args>),
    /// Remove a key from a configuration file
    Unset(Lazy<unset::Args>),
    /// Show what every layer says of a key, or what keys there are
    Explain(Lazy<explain::Args>),
    /// Show the files that count
    Path(Lazy<path::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Show(args) => show::run(app, &args),
        Command::Get(args) => get::run(app, &args),
        Command::Set(args) => set::run(app, &args),
        Command::Unset(args) => unset::run(app, &args),
        Command::Explain(args) => explain::run(app, &args),
        Command::Path(args) => path::run(app, &args),
    }
}

/// Which file is changed.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct Target {
    /// The user's file (the default)
    #[arg(long)]
    user: bool,
    /// The project's file, shared with everybody
    #[arg(long)]
    project: bool,
    /// The user's own file in the project
    #[arg(long)]
    project_user: bool,
    /// The machine's file
    #[arg(long)]
    system: bool,
}

impl Target {
    fn layer(&self) -> Layer {
        match (self.project, self.project_user, self.system) {
            (true, _, _) => Layer::Project,
            (_, true, _) => Layer::ProjectUser,
            (_, _, true) => Layer::System,
            _ => Layer::User,
        }
    }
}
