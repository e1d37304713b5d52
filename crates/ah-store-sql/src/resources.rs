//! What every transaction is given besides the engine: time, ids and what the store can do.

use std::sync::{Arc, Mutex};

use ah_model::Timestamp;
use ah_store::{Capabilities, Clock, Feature, Ids, StoreError};

use crate::horizon::Horizon;

pub(crate) struct Resources {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) capabilities: Capabilities,
    /// How far the feed is settled, on engines where that takes finding out.
    pub(crate) horizon: Horizon,
    /// The number of the newest change as of a commit that was heard of: looked up once for all who
    /// wait.
    pub(crate) newest_change: Mutex<Option<(u64, i64)>>,
}

impl Resources {
    pub(crate) fn new(clock: Arc<dyn Clock>, ids: Ids, capabilities: Capabilities) -> Self {
        let (horizon, newest_change) = (Horizon::default(), Mutex::default());
        Self { clock, ids, capabilities, horizon, newest_change }
    }

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
