//! The grammar of the command line. A doc comment here or on a verb is the help people read.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::commands::Command;

const AFTER_HELP: &str = "\
First steps:
  ah status                                     show what is ready
  ah session create --agent claude-code         begin a session, prints its id
  ah session append ID --type note --data '{}'  add an event
  ah session events ID                          read it back
  ah agent create NAME --kind claude-code       make an agent that lives through many sessions
  ah up                                         serve this machine's harbor to other programs
  ah tui                                        look at it in the terminal

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict or invalid state, 5 not allowed,
6 remote unreachable, 7 configuration, 8 no repository, 9 store busy or damaged, 10 input needed";

/// The durable memory of AI coding agents.
///
/// `ah` keeps agents, sessions, tasks, events, drafts and settings in one local database that many
/// programs may use at once. What it acknowledged is on disk, in order, once, and can be found again.
#[derive(Debug, Parser)]
#[command(name = "ah", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print one JSON document on stdout (JSON lines where it streams), errors as problem objects
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work on this repository: a path or a URL
    #[arg(long, global = true, value_name = "PATH|URL")]
    pub(crate) repo: Option<String>,
    /// Use this server instead of the local database
    #[arg(long, global = true, value_name = "URL|NAME")]
    pub(crate) remote_server: Option<String>,
    /// Use this PostgreSQL database instead of the local file
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Put new sessions into this workspace (servers only)
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) workspace: Option<String>,
    /// Read this configuration file too
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Never ask; exit 10 when input is needed
    #[arg(long, global = true)]
    pub(crate) non_interactive: bool,
    /// Say nothing but results and errors
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// No colour, as with `NO_COLOR`
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}
