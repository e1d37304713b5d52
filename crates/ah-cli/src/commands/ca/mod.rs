//! `ah ca`: a small private authority for executors and access points.

mod init;
mod issue;
mod list;
mod revoke;
mod show;

use std::path::PathBuf;

use ah_access::ca::{Authority, Issued};
use ah_model::Timestamp;
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;
use crate::when::{ago, ahead};

/// The authority's directory, below the state directory.
const DIRECTORY: &str = "ca";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make the authority of this machine
    Init(Lazy<init::Args>),
    /// Issue a certificate, with its key and the authority beside it
    Issue(Lazy<issue::Args>),
    /// Take certificates back: peers refuse them from now on
    Revoke(Lazy<revoke::Args>),
    /// List what was issued
    List(Lazy<list::Args>),
    /// Show the authority, or what was issued for a node
    Show(Lazy<show::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Init(args) => init::run(app, &args),
        Command::Issue(args) => issue::run(app, &args),
        Command::Revoke(args) => revoke::run(app, &args),
        Command::List(_) => list::run(app),
        Command::Show(args) => show::run(app, &args),
    }
}

fn directory(app: &App) -> Result<PathBuf, CommandError> {
    Ok(app.environment.state_dir()?.join(DIRECTORY))
}

fn open(app: &App) -> Result<Authority, CommandError> {
    Ok(Authority::open(&directory(app)?)?)
}

/// Whether a certificate can be used, in words.
fn state(issued: &Issued, now: Timestamp) -> String {
    match issued.revoked_at {
        Some(at) => format!("revoked {}", ago(at, now)),
        None if issued.not_after <= now => format!("expired {}", ago(issued.not_after, now)),
        None => format!("valid, ends in {}", ahead(issued.not_after, now)),
    }
}
