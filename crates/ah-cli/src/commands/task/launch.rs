//! Tasks that run at once: what `ah task create` does beyond recording.

use std::sync::Arc;

use ah_model::{Demands, Execution, Multiplexer, NewTask, Run, TaskBatch};
use ah_run::Local;
use ah_store::{Store, block_on};
use serde::Serialize;

use crate::app::App;
use crate::commands::local::{self, Workers};
use crate::commands::pane;
use crate::error::{CommandError, Exit};

/// How a task is carried out.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LaunchArgs {
    /// Run it here and now, and show what the agent writes; Ctrl-C asks it to end
    #[arg(long, conflicts_with_all = ["detach", "queue"])]
    run: bool,
    /// Run it here, in processes of their own that outlive this terminal
    #[arg(long, conflicts_with = "queue")]
    detach: bool,
    /// Let `ah up`, or an executor that has the agent kind, run it
    #[arg(long)]
    queue: bool,
    /// Where the agent works: in-place, worktree (git, on a branch of its own) or snapshot
    #[arg(long, value_name = "WHERE")]
    working_copy: Option<String>,
    /// Run it in a pane of tmux, zellij or screen, with `--detach` or `--queue`
    #[arg(long, value_name = "TOOL", conflicts_with = "run")]
    multiplexer: Option<String>,
}

/// What was recorded and run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ran<'a> {
    #[serde(flatten)]
    batch: &'a TaskBatch,
    runs: Vec<&'a Run>,
}

/// Records the task, and runs it if that is asked for.
pub(crate) fn launch(app: &App, args: &LaunchArgs, task: NewTask) -> Result<(), CommandError> {
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    if !args.run && !args.detach && !args.queue {
        let said = args.working_copy.as_ref().or(args.multiplexer.as_ref());
        if let Some(word) = said {
            let message = format!("{word} says how a task is run, not recorded");
            return Err(CommandError::new(Exit::Usage, message)
                .hint("add `--run`, `--detach` or `--queue`"));
        }
        return super::print_batch(app, &block_on(store.create_task(task))?);
    }
    local::reconcile(app)?;
    let local = local::machine(app, Arc::clone(&store))?;
    let task = NewTask { execution: Some(execution(app, args, &local, &task)?), ..task };
    if args.run && task.sessions().len() > 1 {
        let message = format!("{} sessions cannot share one terminal", task.sessions().len());
        return Err(CommandError::new(Exit::Usage, message).hint("`--detach` runs them beside it"));
    }
    let multiplexer = task.execution.as_ref().and_then(|execution| execution.multiplexer);
    let batch = block_on(store.create_task(task))?;
    match (args.run, args.detach) {
        (true, _) => foreground(app, &local, &batch),
        (false, true) => detached(app, &local, &batch, multiplexer),
        (false, false) => super::print_batch(app, &batch),
    }
}

/// `task` as `--queue` records it: for whoever has its agent kind.
pub(crate) fn queued(
    app: &App,
    store: &Arc<dyn Store>,
    task: NewTask,
) -> Result<NewTask, CommandError> {
    let local = local::machine(app, Arc::clone(store))?;
    let args = LaunchArgs { queue: true, ..LaunchArgs::default() };
    Ok(NewTask { execution: Some(execution(app, &args, &local, &task)?), ..task })
}

/// How it is carried out, checked before anything is recorded.
fn execution(
    app: &App,
    args: &LaunchArgs,
    local: &Local,
    task: &NewTask,
) -> Result<Execution, CommandError> {
    let here = args.run || args.detach;
    if here {
        for kind in &task.agents {
            local.check_kind(&kind.name)?;
        }
    }
    let multiplexer = args.multiplexer.as_deref().map(str::parse).transpose()?;
    let multiplexer = match args.run {
        true => None,
        false => multiplexer.or(app.config()?.multiplexer()),
    };
    let executor_id = here.then(|| local.executor().clone());
    Ok(Execution {
        demands: Demands { executor_id, ..Demands::default() },
        by_kind: args.queue,
        working_copy: args.working_copy.as_deref().map(str::parse).transpose()?.unwrap_or_default(),
        multiplexer,
    })
}

fn foreground(app: &App, local: &Local, batch: &TaskBatch) -> Result<(), CommandError> {
    let Some(run) = batch.run_ids.first() else { return Ok(()) };
    let done = local::foreground(app, local, run)?;
    if app.output.is_json() {
        app.output.json(&Ran { batch, runs: vec![&done.run] })?;
    }
    local::outcome(app, &done)
}

fn detached(
    app: &App,
    local: &Local,
    batch: &TaskBatch,
    multiplexer: Option<Multiplexer>,
) -> Result<(), CommandError> {
    super::print_batch(app, batch)?;
    for (run, session) in batch.run_ids.iter().zip(&batch.session_ids) {
        let place = match multiplexer {
            Some(multiplexer) => pane::open(&Workers::of(app)?, local, run, multiplexer)?,
            None => format!("process {}", local::detach(app, local, run)?),
        };
        app.output.talk(&format!(
            "session {session} runs in {place}; `ah session attach {session}` follows it"
        ));
    }
    Ok(())
}
