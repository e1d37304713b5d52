//! What sleep, wake and retire have in common.

use ah_model::{Agent, Lifecycle};
use ah_store::{Agents, block_on};
use ah_store_sql::SqlStore;

use crate::app::App;
use crate::error::CommandError;

/// Moves the agent's lifecycle and prints where it is now.
pub(super) fn set(
    app: &App,
    store: &SqlStore,
    agent: Agent,
    to: Lifecycle,
) -> Result<(), CommandError> {
    let agent = block_on(store.set_agent_lifecycle(agent.id, to))?;
    app.output.result(&agent, |agent| agent.lifecycle.to_string())
}
