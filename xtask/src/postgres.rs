//! The PostgreSQL server that tests and benches run against: given, private, or skipped by hand.

mod find;
mod install;
mod server;

use std::process::Command;

use self::find::Installation;
use self::server::Server;
use crate::process::{self, Failure, variable};

/// Tests read the server's URL here; `skip` turns PostgreSQL off by hand.
const URL_VARIABLE: &str = "AH_TEST_POSTGRES";
const SKIP: &str = "skip";

/// Whether the server forces its writes to disk: off for speed in tests, on to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    On,
    Off,
}

/// What to do on a machine without PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Install,
    Skip,
}

/// Where the children of this process find PostgreSQL.
pub(crate) enum Database {
    /// `AH_TEST_POSTGRES` named a server; children inherit it.
    Given,
    /// Ours, stopped and removed when dropped.
    Private(Server),
    /// Nowhere.
    Skipped,
}

impl Database {
    /// Follows `AH_TEST_POSTGRES` when it is set, else starts a private server.
    pub(crate) fn obtain(sync: Sync, if_missing: IfMissing) -> Result<Self, Failure> {
        match variable(URL_VARIABLE).as_deref() {
            Some(SKIP) => {
                eprintln!("warning: the PostgreSQL tests are SKIPPED ({URL_VARIABLE}=skip)");
                Ok(Self::Skipped)
            }
            Some(url) => {
                eprintln!("    using {URL_VARIABLE}={url}");
                Ok(Self::Given)
            }
            None => Self::start_private(sync, if_missing),
        }
    }

    fn start_private(sync: Sync, if_missing: IfMissing) -> Result<Self, Failure> {
        let installation = match (find::installation()?, if_missing) {
            (Some(installation), _) => installation,
            (None, IfMissing::Install) => install::installation()?,
            (None, IfMissing::Skip) => {
                eprintln!("warning: no PostgreSQL server found, so it is SKIPPED");
                return Ok(Self::Skipped);
            }
        };
        Ok(Self::Private(start(&installation, sync)?))
    }

    /// Tells `command` which server to use.
    pub(crate) fn apply(&self, command: &mut Command) {
        match self {
            Self::Given => {}
            Self::Private(server) => {
                command.env(URL_VARIABLE, server.url());
            }
            Self::Skipped => {
                command.env(URL_VARIABLE, SKIP);
            }
        }
    }
}

/// `cargo xtask postgres -- PROGRAM`: runs a program beside a private server.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let arguments = match arguments.split_first() {
        Some((dashes, rest)) if dashes == "--" => rest,
        _ => arguments,
    };
    let Some((program, rest)) = arguments.split_first() else {
        return Err(Failure::usage("name a program: `cargo xtask postgres -- psql`"));
    };
    let installation = match find::installation()? {
        Some(installation) => installation,
        None => install::installation()?,
    };
    let server = start(&installation, Sync::Off)?;
    let mut command = Command::new(program);
    command.args(rest).env(URL_VARIABLE, server.url()).envs(server.client_variables());
    process::run(&mut command)
}

fn start(installation: &Installation, sync: Sync) -> Result<Server, Failure> {
    eprintln!("    {} in {}", installation.version, installation.directory.display());
    let server = Server::start(installation, sync)?;
    eprintln!("    {URL_VARIABLE}={}", server.url());
    Ok(server)
}
