use ah_model::{Agent, Lifecycle, SessionId};
use ah_store::{Store, StoreError, block_on};

use crate::app::App;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Do not ask; only people at a terminal are asked
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    if !args.yes {
        let session = block_on(store.session(id.clone()))?;
        let events = session.last_seq;
        confirm(app.asking(), &format!("Delete session {id} with its {events} events?"))?;
    }
    block_on(store.delete_session(id.clone())).map_err(|error| explained(&*store, &id, error))?;
    app.output.result(&serde_json::json!({ "id": id, "deleted": true }), |_| String::new())
}

/// How the agent gets out of its session, if it can.
fn leaving(agent: &Agent) -> String {
    let name = &agent.name;
    match agent.lifecycle {
        Lifecycle::Dead => format!("{name} is dead and keeps its last session"),
        Lifecycle::Active | Lifecycle::Sleeping => {
            format!("`ah agent reset {name}` begins its next one")
        }
    }
}

/// A refusal, with what helps when an agent goes on in the session.
fn explained(store: &dyn Store, id: &SessionId, error: StoreError) -> CommandError {
    let refused = matches!(error, StoreError::Conflict { .. });
    let error = CommandError::from(error);
    let session = refused.then(|| block_on(store.session(id.clone())).ok()).flatten();
    let Some(of_agent) = session.and_then(|session| session.of_agent) else {
        return error;
    };
    match block_on(store.agent(of_agent.id)) {
        Ok(agent) if agent.active_session_id.as_ref() == Some(id) => error.hint(leaving(&agent)),
        Ok(_) | Err(_) => error,
    }
}
