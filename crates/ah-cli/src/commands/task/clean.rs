use std::path::PathBuf;

use ah_store::block_on;

use crate::app::App;
use crate::commands::local;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task's number
    id: i64,
    /// Also with changes that are not committed, which are lost
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store = app.store()?;
    let task = block_on(store.task(args.id))?;
    let session = block_on(store.session(task.session_id.clone()))?;
    if let Some(run) = local::live_run(&*store, &session.id)? {
        let message = format!("task {} is at work: run {} is {}", args.id, run.id, run.status);
        return Err(CommandError::new(Exit::Conflict, message)
            .hint(format!("`ah session stop {}` ends it", session.id)));
    }
    let own = app.environment.state_dir()?.join("worktrees").join(ah_run::short(&session.id));
    let copy = session.details.workspace_path.as_ref().map(PathBuf::from);
    // Only what was made for the task is removed, whatever its session says.
    let Some(copy) = copy.filter(|copy| *copy == own && copy.is_dir()) else {
        let message = format!("task {} has no working copy of its own on this machine", args.id);
        return Err(CommandError::new(Exit::NotFound, message));
    };
    if !args.force && !ah_run::is_clean(&copy)? {
        let message = format!("{} has changes that are not committed", copy.display());
        return Err(CommandError::new(Exit::Conflict, message)
            .hint(format!("`git -C {} diff` shows them", copy.display()))
            .hint(format!("`ah task clean {} --force` loses them", args.id)));
    }
    ah_run::remove_worktree(&copy)?;
    app.output.result(&task, |_| format!("removed {}; its branch stays", copy.display()))
}
