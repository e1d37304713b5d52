use std::sync::Arc;

use ah_store::{Store, block_on};

use super::logs::{Follow, newest, print, readable_form};
use crate::app::App;
use crate::commands::{local, pane};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let id = app.session_id(&*store, &args.id)?;
    let run = newest(&*store, &id)?;
    if run.status.is_live() && pane::attach(app, &block_on(store.session(id.clone()))?)? {
        return Ok(());
    }
    if run.status.is_live() {
        app.output.talk(&format!(
            "following session {id}; Ctrl-C leaves it at work, `ah session stop {id}` ends it"
        ));
    }
    let form = readable_form(app, &run)?;
    print(app, &*store, &run, form, Follow::UntilItEnds)?;
    let run = block_on(store.run(run.id))?;
    let why = run.error.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    app.output.talk(&format!("session {id} {}{why}", run.status));
    Ok(())
}
