use ah_model::RunFilter;
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::local;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this status; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Of this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Held by this executor, or held last
    #[arg(long, value_name = "ID")]
    executor: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store = app.store()?;
    let session = args.session.as_deref().map(|id| app.session_id(&*store, id)).transpose()?;
    let filter = RunFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        session_id: session,
        executor_id: args.executor.as_deref().map(str::parse).transpose()?,
    };
    let now = app.now();
    let empty = "no such runs; `ah run create SESSION` queues one";
    let look = Look { header: view::HEADER, empty, row: &|run| view::row(run, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_runs(filter.clone(), page))?))
}
