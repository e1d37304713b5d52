//! Runs in the oracle.

use ah_model::{NewRun, Run, RunId, RunStatus, SessionId, limits};
use ah_store::{Kind, Runs, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows};

#[async_trait]
impl Runs for ModelStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        self.write(|rows, door| rows.create_run(run, door))
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        let found = self.read(|rows| rows.runs.get(&id).cloned());
        found.ok_or_else(|| StoreError::not_found(Kind::Run, id))
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.read(|rows| {
            rows.row(&session)?;
            let runs = rows.runs.values().filter(|run| run.session_id == session);
            let newest = runs.rev().take(limits::PAGE_ITEMS_MAX as usize);
            let mut runs: Vec<_> = newest.cloned().collect();
            runs.reverse();
            Ok(runs)
        })
    }
}

impl Rows {
    /// Queues a run. It is no activity of the session: nothing has happened to it yet.
    pub(super) fn create_run(&mut self, new: NewRun, door: &Door) -> Result<Run, StoreError> {
        self.row(&new.session_id)?;
        let mut of_session = self.runs.values().filter(|r| r.session_id == new.session_id);
        if let Some(live) = of_session.find(|run| run.status.is_live()) {
            let reason = format!("run {} is {}", live.id, live.status);
            return Err(StoreError::conflict(Kind::Session, new.session_id, reason));
        }
        let now = door.now();
        let run = Run {
            id: door.ids.run(now)?,
            session_id: new.session_id,
            kind: new.kind,
            status: RunStatus::Pending,
            parameters: new.parameters,
            demands: new.demands,
            executor_id: None,
            lease_epoch: 0,
            lease_expires_at: None,
            stop_requested_at: None,
            execution_mode: None,
            error: None,
            result: None,
            created_at: now,
            claimed_at: None,
            started_at: None,
            ended_at: None,
        };
        self.runs.insert(run.id.clone(), run.clone());
        Ok(run)
    }
}
