//! `ah session`: conversations of agents, with their events.

pub(crate) mod append;
mod append_lines;
mod attach;
mod context;
mod create;
mod delete;
mod events;
mod export;
mod follow;
mod fork;
mod import;
mod list;
pub(crate) mod log;
mod logs;
mod pin;
mod rename;
mod resume;
mod set_status;
mod show;
mod stop;
pub(crate) mod view;

use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

pub(crate) use self::create::{RuntimeArgs, SessionArgs};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Begin a session and print its id
    Create(Lazy<create::Args>),
    /// List sessions, most recently active first
    List(Lazy<list::Args>),
    /// Show one session
    Show(Lazy<show::Args>),
    /// Append events; acknowledged once they are on disk
    Append(Lazy<append::Args>),
    /// Print a session's events
    Events(Lazy<events::Args>),
    /// Print what a model is shown again of a session
    Context(Lazy<context::Args>),
    /// Print a session's events and wait for new ones
    Follow(Lazy<follow::Args>),
    /// Go on with a session: with its own tool, or told anew to another
    Resume(Lazy<resume::Args>),
    /// Follow what the agent of a session writes, until it has ended
    Attach(Lazy<attach::Args>),
    /// Print what the agent of a session wrote
    Logs(Lazy<logs::Args>),
    /// Ask the agent of a session to stop
    Stop(Lazy<stop::Args>),
    /// Move a session's status
    SetStatus(Lazy<set_status::Args>),
    /// Begin a session that goes on from a point of another's log
    Fork(Lazy<fork::Args>),
    /// Give a session another title
    Rename(Lazy<rename::Args>),
    /// Keep a session whatever retention says
    Pin(Lazy<pin::Args>),
    /// Remove a session with its events, tasks and runs
    Delete(Lazy<delete::Args>),
    /// Write a session as a document that can be imported anywhere
    Export(Lazy<export::Args>),
    /// Restore a session from an exported document
    Import(Lazy<import::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Append(args) => append::run(app, &args),
        Command::Events(args) => events::run(app, &args),
        Command::Context(args) => context::run(app, &args),
        Command::Follow(args) => follow::run(app, &args),
        Command::Resume(args) => resume::run(app, &args),
        Command::Attach(args) => attach::run(app, &args),
        Command::Logs(args) => logs::run(app, &args),
        Command::Stop(args) => stop::run(app, &args),
        Command::SetStatus(args) => set_status::run(app, &args),
        Command::Fork(args) => fork::run(app, &args),
        Command::Rename(args) => rename::run(app, &args),
        Command::Pin(args) => pin::run(app, &args),
        Command::Delete(args) => delete::run(app, &args),
        Command::Export(args) => export::run(app, &args),
        Command::Import(args) => import::run(app, &args),
    }
}
