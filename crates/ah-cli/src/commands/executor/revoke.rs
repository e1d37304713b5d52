use ah_model::{ExecutorChange, ExecutorStatus};

use super::change::change;
use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let id = &args.id;
    let question = format!("Revoke executor {id} for ever and lose the runs it is at?");
    confirm(app.asking(), &question)?;
    change(app, id, ExecutorChange::to(ExecutorStatus::Revoked), |executor| {
        format!("executor {} may never connect again", executor.id)
    })
}
