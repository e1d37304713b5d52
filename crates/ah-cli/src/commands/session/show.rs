use std::path::Path;

use ah_model::FleetStatus;
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::local;
use crate::error::CommandError;
use crate::{environment, whereabouts};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    local::reconcile(app)?;
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let session = block_on(store.session(id.clone()))?;
    app.output.result(&session, |session| {
        // Who may see the session but no fleet sees the session.
        let fleet = block_on(store.fleet(id)).ok();
        view::session(session, fleet.filter(|fleet| fleet.status == FleetStatus::Live).as_ref())
    })?;
    if session.details.hostname == environment::hostname()
        && session.details.project_dir.as_deref().is_some_and(|dir| !Path::new(dir).is_dir())
    {
        match whereabouts::present_dir(&*store, &session) {
            Ok(now) => app.output.talk(&format!("its directory is now {}", now.display())),
            Err(error) => {
                app.output.talk(&format!("{error}\nhint: {}", error.hints.join("\nhint: ")));
            }
        }
    }
    Ok(())
}
