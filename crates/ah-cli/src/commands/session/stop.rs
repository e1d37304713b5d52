use std::sync::Arc;
use std::time::Duration;

use ah_model::{RunStatus, SessionStatus};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::commands::{local, waiting};
use crate::error::{CommandError, Exit};
use crate::when;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Wait so long for its end; an agent has ten seconds to end by itself before it is killed
    #[arg(long, value_name = "SPAN", default_value = "15s")]
    wait: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let wait = Duration::from_millis(when::span(&args.wait)?);
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let id = app.session_id(&*store, &args.id)?;
    block_on(store.stop_session(id.clone()))?;
    let look = || {
        let live = local::live_run(&*store, &id)?;
        Ok(live.is_none_or(|run| run.status == RunStatus::Pending).then_some(()))
    };
    let ended = waiting::until_changed(&store, wait, look)?;
    let session = block_on(store.session(id.clone()))?;
    app.output.result(&session, |session| session.status.to_string())?;
    if ended.is_none() && session.status == SessionStatus::Stopping && !wait.is_zero() {
        let message = format!("session {id} was asked to stop and has not ended yet");
        return Err(CommandError::new(Exit::Failed, message)
            .hint(format!("`ah session resume {id} PROMPT --take-over` ends it and goes on")));
    }
    Ok(())
}
