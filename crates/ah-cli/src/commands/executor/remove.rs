use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
    /// Do not ask it first: forget it now; its claims are queued again and its runs at work fail
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = args.id.parse()?;
    if !args.force {
        let executor = block_on(store.ask_executor_to_go(id))?;
        return app.output.result(&executor, |executor| {
            format!("executor {} is told to go when it next asks for work", executor.id)
        });
    }
    confirm(app.asking(), &format!("Forget executor {id} and fail the runs it is at?"))?;
    let runs = block_on(store.remove_executor(id))?;
    app.output.result(&json!({ "items": runs }), |_| {
        let lines: Vec<_> =
            runs.iter().map(|run| format!("run {}: {}\n", run.id, run.status)).collect();
        format!("removed\n{}", lines.concat())
    })
}
