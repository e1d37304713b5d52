//! Programs beside runs.

use ah_model::{Dispatched, NewDispatch, RunId};
use ah_store::StoreError;
use ureq::http::Method;

use crate::RestStore;
use crate::run::run_target;

impl RestStore {
    /// Has a program started beside a run. No part of the contract: it is done by the access point
    /// that the holder of the run is connected to, and no store can.
    pub fn dispatch(&self, run: &RunId, new: &NewDispatch) -> Result<Dispatched, StoreError> {
        // What no executor starts may be more than a server reads, and then it could not say why.
        new.check()?;
        self.create(Method::POST, &run_target(run, "dispatches"), new)
    }
}
