//! `ah import`: agents, sessions and mail that other programs left.

mod coordinator;
mod daycare;
mod daycare_db;
mod hyperhive;
mod progress;
mod report;
mod transcripts;
mod watch;

use ah_import::{ImportError, ImportOptions, ImportReport, Progress};
use ah_store::Store;
use clap::Subcommand;

use self::transcripts::Tool;
use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
pub(crate) struct Args {
    /// Bring in the transcripts of every coding agent found on this machine
    #[arg(long, required = true)]
    all: bool,
    #[command(flatten)]
    which: transcripts::WhichArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Bring in the transcripts of Claude Code
    ClaudeCode(Lazy<transcripts::Args>),
    /// Bring in the transcripts of Codex
    Codex(Lazy<transcripts::Args>),
    /// Bring in the sessions of Gemini CLI
    Gemini(Lazy<transcripts::Args>),
    /// Bring in the sessions of opencode
    Opencode(Lazy<transcripts::Args>),
    /// Bring in the sessions of goose
    Goose(Lazy<transcripts::Args>),
    /// Bring in the agents of Daycare's files
    Daycare(Lazy<daycare::Args>),
    /// Bring in the agents of a Daycare database
    DaycareDb(Lazy<daycare_db::Args>),
    /// Bring in the sessions, events and runs of an Agent Coordinator's database
    Coordinator(Lazy<coordinator::Args>),
    /// Bring in the messages, approvals, questions and live events of a Hyperhive
    Hyperhive(Lazy<hyperhive::Args>),
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let Some(command) = &args.command else {
        return transcripts::run_all(app, &args.which);
    };
    match command {
        Command::ClaudeCode(args) => transcripts::run(app, args, Tool::ClaudeCode),
        Command::Codex(args) => transcripts::run(app, args, Tool::Codex),
        Command::Gemini(args) => transcripts::run(app, args, Tool::Gemini),
        Command::Opencode(args) => transcripts::run(app, args, Tool::Opencode),
        Command::Goose(args) => transcripts::run(app, args, Tool::Goose),
        Command::Daycare(args) => daycare::run(app, args),
        Command::DaycareDb(args) => daycare_db::run(app, args),
        Command::Coordinator(args) => coordinator::run(app, args),
        Command::Hyperhive(args) => hyperhive::run(app, args),
    }
}

/// How to import, whatever the format.
#[derive(Debug, clap::Args)]
pub(crate) struct HowArgs {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// List more remarks of one thing than the first ten
    #[arg(long, short)]
    verbose: bool,
}

impl HowArgs {
    /// Runs an import, with its progress.
    fn import<R>(
        &self,
        app: &App,
        kind: &str,
        import: impl FnOnce(
            &dyn Store,
            &ImportOptions,
            &mut (dyn FnMut(Progress<'_>) + Send),
        ) -> Result<R, ImportError>,
    ) -> Result<R, CommandError> {
        let kind = kind.parse()?;
        let options = ImportOptions { dry_run: self.dry_run, kind, now: app.now() };
        let store = app.store()?;
        let bar = progress::bar(app);
        let done = import(&*store, &options, &mut |progress| progress::show(&bar, progress));
        bar.finish_and_clear();
        Ok(done?)
    }
}

/// How to import agents.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentsArgs {
    /// The agent kind that the agents become
    #[arg(long, value_name = "KIND[@VERSION]", default_value = "daycare")]
    kind: String,
    #[command(flatten)]
    how: HowArgs,
}

impl AgentsArgs {
    /// Runs an import and prints what it did.
    fn import(
        &self,
        app: &App,
        import: impl FnOnce(
            &dyn Store,
            &ImportOptions,
            &mut (dyn FnMut(Progress<'_>) + Send),
        ) -> Result<ImportReport, ImportError>,
    ) -> Result<(), CommandError> {
        let done = self.how.import(app, &self.kind, import)?;
        report::print_agents(app, &done, self.how.verbose)
    }
}
