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
    confirm(app.asking(), &format!("Disable executor {id} and lose the runs it is at?"))?;
    change(app, id, ExecutorChange::to(ExecutorStatus::Disabled), |executor| {
        format!("executor {id} may not connect until `ah executor enable {}`", executor.id)
    })
}
