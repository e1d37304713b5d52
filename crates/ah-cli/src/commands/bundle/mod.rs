//! `ah bundle`: the prompts and settings of a scope as files that can be verified.
//!
//! No verb opens a store or writes below `AH_HOME`, but `key`, which keeps what must not be in a
//! bundle.

mod diff;
mod dry_run;
mod export;
mod fix_permissions;
mod import;
mod key;
mod list;
mod log;
pub(super) mod place;
mod prune;
mod quarantine;
mod refine;
pub(super) mod run;
mod save;
mod show;
mod verify;
mod view;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Restore the bundle of a scope, or make it with a pre-stage and save it
    Run(Lazy<run::Args>),
    /// Save a bundle as the newest of its scope
    Save(Lazy<save::Args>),
    /// Print the newest bundle of a scope, or one snapshot
    Show(Lazy<show::Args>),
    /// List the snapshots there are
    List(Lazy<list::Args>),
    /// Save the newest bundle of a scope with changes, as its child
    Refine(Lazy<refine::Args>),
    /// Show how a scope became what it is
    Log(Lazy<log::Args>),
    /// Show what differs between two snapshots
    Diff(Lazy<diff::Args>),
    /// Check every file, hash and link; nothing is changed
    Verify(Lazy<verify::Args>),
    /// Remove old snapshots; what a scope stands at stays
    Prune(Lazy<prune::Args>),
    /// Write snapshots as one document
    Export(Lazy<export::Args>),
    /// Add the snapshots of an exported document
    Import(Lazy<import::Args>),
    /// Put damaged files aside and lead pointers to what is valid
    Quarantine(Lazy<quarantine::Args>),
    /// Take the access of others to the directory and its files away
    FixPermissions(Lazy<fix_permissions::Args>),
    /// Keep the key of a model's server for `--prestage openai`, or forget it
    Key(Lazy<key::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Run(args) => run::run(app, &args),
        Command::Save(args) => save::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Refine(args) => refine::run(app, &args),
        Command::Log(args) => log::run(app, &args),
        Command::Diff(args) => diff::run(app, &args),
        Command::Verify(args) => verify::run(app, &args),
        Command::Prune(args) => prune::run(app, &args),
        Command::Export(args) => export::run(app, &args),
        Command::Import(args) => import::run(app, &args),
        Command::Quarantine(args) => quarantine::run(app, &args),
        Command::FixPermissions(args) => fix_permissions::run(app, &args),
        Command::Key(args) => key::run(app, &args),
    }
}
