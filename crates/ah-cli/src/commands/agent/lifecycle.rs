//! What sleep, wake and retire have in common.

use ah_model::{Agent, Lifecycle};
use ah_store::{Store, block_on};

use crate::app::App;
use crate::error::CommandError;

/// Moves the agent's lifecycle and prints where it is now.
pub(super) fn set(
    app: &App,
    store: &dyn Store,
    agent: Agent,
    to: Lifecycle,
) -> Result<(), CommandError> {
    let agent = block_on(store.set_agent_lifecycle(agent.id, to))?;
    app.output.result(&agent, |agent| agent.lifecycle.to_string())
}
