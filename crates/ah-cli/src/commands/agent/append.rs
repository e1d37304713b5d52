use ah_model::{Agent, Appended, NewEvent, SessionId};
use ah_store::{Kind, Store, StoreError, block_on};

use super::{Expected, Named, is_of, late_hint};
use crate::app::App;
use crate::commands::session::append::EventArgs;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    what: EventArgs,
    #[command(flatten)]
    expected: Expected,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let event = args.what.event()?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let expected = args.expected.session(app, &*store)?;
    // Each batch goes to the session that is active then: a reset in between is followed, unless
    // one session is expected.
    args.what.append(app, event, |events| to_active(&*store, &agent, expected.as_ref(), events))
}

/// Appends to the agent's active session, if that is the expected one.
pub(super) fn to_active(
    store: &dyn Store,
    agent: &Agent,
    expected: Option<&SessionId>,
    events: Vec<NewEvent>,
) -> Result<Appended, CommandError> {
    let done = block_on(store.append_to_agent(agent.id.clone(), expected.cloned(), events));
    done.map_err(|error| {
        let refused = matches!(error, StoreError::Conflict { kind: Kind::Agent, .. });
        // Nobody shall be led into a session that is gone or another agent's.
        let takes = |id: &&SessionId| {
            block_on(store.session((*id).clone())).is_ok_and(|session| is_of(&session, agent))
        };
        let left = expected.filter(|_| refused).filter(takes);
        let error = CommandError::from(error);
        match left {
            Some(session) => error.hint(late_hint(session)),
            None => error,
        }
    })
}
