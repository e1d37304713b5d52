//! Runs.

use ah_model::{NewRun, Run, RunId, SessionId};
use ah_store::{Runs, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;
use crate::session::session_target;

#[async_trait]
impl Runs for RestStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        self.http.send(Method::POST, &Target::new(["runs"]), &run)
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        self.http.get(&Target::new(["runs", id.as_str()]))
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.http.items(session_target(&session, "runs"))
    }
}
