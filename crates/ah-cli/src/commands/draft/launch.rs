use ah_model::{DraftFields, NewTask};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::commands::task::{DeliveryArgs, print_batch};
use crate::detect;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The draft's id, or the beginning of it
    id: String,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let draft = block_on(store.draft(app.draft_id(&*store, &args.id)?))?;
    let task = task_of(app, &*store, &args.delivery, draft.fields)?;
    print_batch(app, &block_on(store.launch_draft(draft.id, task))?)
}

/// The task that a draft is for; where the flags are silent, the draft speaks.
pub(crate) fn task_of(
    app: &App,
    store: &dyn Store,
    delivery: &DeliveryArgs,
    fields: DraftFields,
) -> Result<NewTask, CommandError> {
    let repo = match &app.global.repo {
        Some(_) => app.repo()?,
        None => detect::from_flag(&fields.repository, app.current_dir()?)?,
    };
    let repo = app.settled(store, repo)?;
    let mut task = delivery.task(app, fields.description, &fields.models, fields.branch, repo)?;
    task.project_dir = task.repo.root_path.clone();
    Ok(task)
}
