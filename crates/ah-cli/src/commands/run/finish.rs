use ah_model::{Exit, RawJson, RunEnd, RunOutcome, limits};
use ah_store::block_on;
use clap::ValueEnum;

use super::LeaseArgs;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    lease: LeaseArgs,
    /// How it ended
    #[arg(value_enum)]
    outcome: Outcome,
    /// Why it failed
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// What it gave back, as JSON
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    /// The session waits for its next turn rather than ends
    #[arg(long)]
    idle: bool,
    /// Exit code of the agent's process
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Outcome {
    Completed,
    Failed,
    Stopped,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let outcome = match args.outcome {
        Outcome::Completed => RunOutcome::Completed,
        Outcome::Failed => RunOutcome::Failed,
        Outcome::Stopped => RunOutcome::Stopped,
    };
    let result = args.result.as_deref();
    let parse = |json| RawJson::parse("result", json, limits::RUN_RESULT_BYTES_MAX);
    let end = RunEnd {
        error: args.error.clone(),
        result: result.map(parse).transpose()?,
        idle: args.idle,
        exit: Exit { code: args.exit_code, ..Exit::default() },
        ..RunEnd::new(outcome)
    };
    let run = block_on(app.store()?.finish_run(args.lease.lease()?, end))?;
    app.output.result(&run, |run| run.status.to_string())
}
