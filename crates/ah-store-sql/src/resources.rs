//! What every transaction is given besides the engine: time, ids and what the store can do.

use std::sync::Arc;

use ah_model::Timestamp;
use ah_store::{Capabilities, Clock, Feature, Ids, StoreError};

pub(crate) struct Resources {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) capabilities: Capabilities,
}

impl Resources {
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn need_workspaces(&self) -> Result<(), StoreError> {
        if self.capabilities.workspaces {
            return Ok(());
        }
        Err(StoreError::Unsupported { feature: Feature::Workspaces })
    }
}
