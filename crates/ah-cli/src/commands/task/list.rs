use ah_model::{Task, TaskFilter};
use ah_store::block_on;

use crate::app::App;
use crate::commands::local;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;
use crate::output::printable;

const PROMPT_CHARS: usize = 60;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Of this request: the id `ah task create` answered
    #[arg(long, value_name = "ID")]
    batch: Option<String>,
    /// Of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store = app.store()?;
    let session = args.session.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let batch_id = args.batch.as_deref().map(str::parse).transpose()?;
    let filter = TaskFilter { batch_id, session_id: session };
    let look = Look {
        header: &["ID", "STATUS", "AGENT", "SESSION", "PROMPT"],
        empty: "no tasks; `ah task create` records one",
        row: &row,
    };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_tasks(filter.clone(), page))?))
}

fn row(task: &Task) -> Vec<String> {
    let first = task.prompt.lines().next().unwrap_or_default();
    vec![
        task.id.unwrap_or_default().to_string(),
        task.status.to_string(),
        task.agent.to_string(),
        task.session_id.to_string(),
        printable(&first.chars().take(PROMPT_CHARS).collect::<String>()),
    ]
}
