//! What this machine does for agents beside the store, where it has their homes. Everything here
//! blocks, so it runs where calls into the store do.

use ah_hive::{Host, HostError, check_model};
use ah_model::{Agent, AgentId, AgentUpdate, NewAgent};
use ah_store::{StoreError, block_on};

/// Creates an agent and its home.
pub(crate) fn create_agent(host: &Host, new: NewAgent) -> Result<Agent, HostError> {
    let agent = block_on(host.store().create_agent(new))?;
    host.create_home(&agent)?;
    Ok(agent)
}

/// Changes an agent. Its model also stands in its home.
pub(crate) fn update_agent(
    host: &Host,
    id: AgentId,
    update: AgentUpdate,
) -> Result<Agent, HostError> {
    let (Some(homes), Some(model)) = (host.homes(), update.model.clone()) else {
        return Ok(block_on(host.store().update_agent(id, update))?);
    };
    let model = Some(model.as_str()).filter(|model| !model.is_empty());
    // What the home's file cannot hold is not in the store either.
    model.map_or(Ok(()), check_model)?;
    let agent = block_on(host.store().update_agent(id, update))?;
    homes.create(&agent.name)?.set_model(model)?;
    Ok(agent)
}

/// What a client is told of what the host could not do.
pub(crate) fn told(error: HostError) -> StoreError {
    match error {
        HostError::Store(error) => error,
        error @ (HostError::Unsafe { .. } | HostError::File { .. } | HostError::Git { .. }) => {
            StoreError::backend("do that on the server's machine", error)
        }
    }
}
