//! Runs in SQL.

use ah_model::{NewRun, RawJson, Run, RunId, RunStatus, SessionId, limits};
use ah_store::{Kind, Runs, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::session;
use crate::tx::{Row, Tx, query_all, query_first};

const SELECT: &str = "SELECT id, session_id, kind, status, parameters, demands, executor_id, \
    lease_epoch, lease_expires_at, stop_requested_at, execution_mode, error, result, created_at, \
    claimed_at, started_at, ended_at FROM runs";
const LIVE: &str = "SELECT id FROM runs \
    WHERE session_id = $1 AND status IN ('pending', 'claimed', 'running', 'stopping')";
const INSERT: &str = "INSERT INTO runs (id, session_id, kind, status, parameters, demands, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7)";

/// Queues a run of a session that has no live one.
pub(crate) fn create(tx: &mut dyn Tx, ctx: &Resources, new: &NewRun) -> Result<RunId, StoreError> {
    session::lock(tx, &new.session_id)?;
    let session = new.session_id.as_str();
    if let Some(live) = query_first(tx, LIVE, &[session.into()], |row| row.text(0))? {
        let reason = format!("has the live run {live}");
        return Err(StoreError::conflict(Kind::Session, session, reason));
    }
    let now = ctx.now();
    let id = ctx.ids.run(now)?;
    let params = [
        id.as_str().into(),
        session.into(),
        new.kind.as_str().into(),
        RunStatus::Pending.as_str().into(),
        new.parameters.as_str().into(),
        new.demands.as_ref().map(RawJson::as_str).into(),
        now.into(),
    ];
    tx.execute(INSERT, &params)?;
    Ok(id)
}

fn get(tx: &mut dyn Tx, id: &RunId) -> Result<Run, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Run, id))
}

fn of_session(tx: &mut dyn Tx, session: &SessionId) -> Result<Vec<Run>, StoreError> {
    session::last_seq(tx, session)?;
    let sql = format!("{SELECT} WHERE session_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2");
    let most = i64::from(limits::PAGE_ITEMS_MAX);
    let mut runs = query_all(tx, &sql, &[session.as_str().into(), most.into()], read)?;
    runs.reverse();
    Ok(runs)
}

fn read(row: &dyn Row) -> Result<Run, StoreError> {
    let row = Reader::new(row);
    Ok(Run {
        id: row.parse()?,
        session_id: row.parse()?,
        kind: row.parse()?,
        status: row.parse()?,
        parameters: row.json()?,
        demands: row.opt_json()?,
        executor_id: row.opt_text()?,
        lease_epoch: row.uint()?,
        lease_expires_at: row.opt_time()?,
        stop_requested_at: row.opt_time()?,
        execution_mode: row.opt_text()?,
        error: row.opt_text()?,
        result: row.opt_json()?,
        created_at: row.time()?,
        claimed_at: row.opt_time()?,
        started_at: row.opt_time()?,
        ended_at: row.opt_time()?,
    })
}

#[async_trait]
impl Runs for SqlStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        self.write(move |tx, ctx| {
            let id = create(tx, ctx, &run)?;
            get(tx, &id)
        })
        .await
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        self.read(move |tx, _| get(tx, &id)).await
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.read(move |tx, _| of_session(tx, &session)).await
    }
}
