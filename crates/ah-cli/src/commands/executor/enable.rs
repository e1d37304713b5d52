use ah_model::{ExecutorChange, ExecutorStatus};

use super::change::change;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    change(app, &args.id, ExecutorChange::to(ExecutorStatus::Active), |executor| {
        format!("executor {} may connect and take runs", executor.id)
    })
}
