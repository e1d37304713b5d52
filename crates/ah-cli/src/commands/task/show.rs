use ah_store::block_on;

use crate::app::App;
use crate::commands::local;
use crate::error::CommandError;
use crate::output::{fields, printable_lines};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's number
    id: i64,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let task = block_on(app.store()?.task(args.id))?;
    app.output.result(&task, |task| {
        let labels: Vec<_> = task.labels.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let head = fields(&[
            ("id", args.id.to_string()),
            ("status", task.status.to_string()),
            ("agent", task.agent.to_string()),
            ("session", task.session_id.to_string()),
            ("request", task.batch_id.to_string()),
            ("branch", task.branch.clone().unwrap_or_default()),
            ("delivery", task.delivery.map(|how| how.to_string()).unwrap_or_default()),
            ("labels", labels.join(" ")),
            ("created", task.created_at.to_string()),
        ]);
        format!("{head}\n{}", printable_lines(&task.prompt))
    })
}
