//! `ah run`: executions of sessions. A harness can live on these verbs alone: claim, start, renew,
//! finish; what decides who does what is in the store.

mod claim;
mod create;
pub(crate) mod demands;
mod exec;
mod finish;
mod list;
mod renew;
mod show;
mod start;
mod stop;
mod view;

use ah_model::Lease;
use clap::Subcommand;

use crate::app::App;
use crate::error::CommandError;
use crate::lazy::Lazy;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Queue a run of a session
    Create(Lazy<create::Args>),
    /// List runs, newest first
    List(Lazy<list::Args>),
    /// Show one run
    Show(Lazy<show::Args>),
    /// Take the run that waits longest, under a lease; exit 3 when there is none
    Claim(Lazy<claim::Args>),
    /// Say that work on a claimed run has begun
    Start(Lazy<start::Args>),
    /// Keep the lease of a run
    Renew(Lazy<renew::Args>),
    /// Say how a run ended
    Finish(Lazy<finish::Args>),
    /// Ask a run to stop
    Stop(Lazy<stop::Args>),
    /// Start a program beside a run, on the executor that holds it
    Exec(Lazy<exec::Args>),
}

pub(crate) fn run(app: &App, command: Command) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(app, &args),
        Command::List(args) => list::run(app, &args),
        Command::Show(args) => show::run(app, &args),
        Command::Claim(args) => claim::run(app, &args),
        Command::Start(args) => start::run(app, &args),
        Command::Renew(args) => renew::run(app, &args),
        Command::Finish(args) => finish::run(app, &args),
        Command::Stop(args) => stop::run(app, &args),
        Command::Exec(args) => exec::run(app, &args),
    }
}

/// Proves that a run is the caller's.
#[derive(Debug, clap::Args)]
pub(crate) struct LeaseArgs {
    /// The run's id
    id: String,
    /// The epoch that the claim gave
    #[arg(long, value_name = "N")]
    epoch: u64,
}

impl LeaseArgs {
    fn lease(&self) -> Result<Lease, CommandError> {
        Ok(Lease { run_id: self.id.parse()?, epoch: self.epoch })
    }
}
