//! The row of a run.

use ah_model::{Demands, ExecutionMode, ExecutorId, MemberName, RawJson, Run, RunId, SessionId};
use ah_store::{Kind, StoreError};

use crate::reader::Reader;
use crate::tx::{Dialect, Row, Tx, query_first};

/// Every column [`read`] takes.
pub(super) const SELECT: &str = "SELECT id, session_id, kind, status, parameters, demands, \
    execution_mode, parent_session_id, timeout_ms, take_by, requeue, requested_by, member, \
    executor_id, lease_epoch, lease_expires_at, stop_requested_at, error, result, created_at, claimed_at, \
    started_at, ended_at, number FROM runs";

/// The run of that id.
pub(super) fn get(tx: &mut dyn Tx, id: &RunId) -> Result<Run, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Run, id))
}

/// The run of that id, which nobody else changes until the transaction ends.
pub(super) fn lock(tx: &mut dyn Tx, id: &RunId) -> Result<Run, StoreError> {
    let sql = format!("{SELECT} WHERE id = $1{}", tx.dialect().for_update());
    query_first(tx, &sql, &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Run, id))
}

pub(super) fn read(row: &dyn Row) -> Result<Run, StoreError> {
    let row = Reader::new(row);
    Ok(Run {
        id: row.parse()?,
        session_id: row.parse()?,
        kind: row.parse()?,
        status: row.parse()?,
        parameters: row.json()?,
        demands: row.opt_text()?.map_or_else(Demands::default, |text| demands(&text)),
        execution_mode: row.opt_parse()?.unwrap_or(ExecutionMode::Sync),
        parent_session_id: row.opt_parse()?,
        timeout_ms: row.opt_int()?.and_then(|ms| u64::try_from(ms).ok()),
        take_by: row.opt_time()?,
        requeue: row.bool()?,
        requested_by: row.opt_text()?,
        member: row.opt_parse()?,
        executor_id: row.opt_parse()?,
        lease_epoch: row.uint()?,
        lease_expires_at: row.opt_time()?,
        stop_requested_at: row.opt_time()?,
        error: row.opt_text()?,
        result: row.opt_json()?,
        created_at: row.time()?,
        claimed_at: row.opt_time()?,
        started_at: row.opt_time()?,
        ended_at: row.opt_time()?,
    })
}

/// The place of [`SELECT`]'s number.
pub(super) const NUMBER: usize = 23;

/// Demands that cannot be read are met by nobody, rather than by everybody.
pub(super) fn demands(text: &str) -> Demands {
    serde_json::from_str::<Option<Demands>>(text).map_or_else(
        |_| Demands { tags: vec!["unreadable demands".to_owned()], ..Demands::default() },
        Option::unwrap_or_default,
    )
}

/// Takes the next number of the queue in the place of `NUMBER`.
const INSERT: &str = "INSERT INTO runs (id, session_id, kind, status, parameters, demands, \
    execution_mode, parent_session_id, timeout_ms, take_by, requeue, executor_id, lease_epoch, \
    lease_expires_at, stop_requested_at, error, result, created_at, claimed_at, started_at, \
    ended_at, requested_by, member, number) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
    $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, NUMBER)";

/// Writes a new row at the end of the queue.
pub(super) fn insert(tx: &mut dyn Tx, run: &Run) -> Result<(), StoreError> {
    let demands = RawJson::of(&run.demands)?;
    let params = [
        run.id.as_str().into(),
        run.session_id.as_str().into(),
        run.kind.as_str().into(),
        run.status.as_str().into(),
        run.parameters.as_str().into(),
        demands.as_str().into(),
        run.execution_mode.as_str().into(),
        run.parent_session_id.as_ref().map(SessionId::as_str).into(),
        run.timeout_ms.into(),
        run.take_by.into(),
        run.requeue.into(),
        run.executor_id.as_ref().map(ExecutorId::as_str).into(),
        run.lease_epoch.into(),
        run.lease_expires_at.into(),
        run.stop_requested_at.into(),
        run.error.as_ref().into(),
        run.result.as_ref().map(RawJson::as_str).into(),
        run.created_at.into(),
        run.claimed_at.into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.requested_by.as_ref().into(),
        run.member.as_ref().map(MemberName::as_str).into(),
    ];
    let number = match tx.dialect() {
        Dialect::Sqlite => "(SELECT coalesce(max(number), 0) + 1 FROM runs)",
        Dialect::Postgres => "nextval('runs_number')",
    };
    tx.execute(&INSERT.replace("NUMBER", number), &params).map(drop)
}

const SAVE: &str = "UPDATE runs SET status = $1, take_by = $2, executor_id = $3, \
    lease_epoch = $4, lease_expires_at = $5, stop_requested_at = $6, error = $7, result = $8, \
    claimed_at = $9, started_at = $10, ended_at = $11 WHERE id = $12";

/// Writes what a run's life changes.
pub(super) fn save(tx: &mut dyn Tx, run: &Run) -> Result<(), StoreError> {
    let params = [
        run.status.as_str().into(),
        run.take_by.into(),
        run.executor_id.as_ref().map(ExecutorId::as_str).into(),
        run.lease_epoch.into(),
        run.lease_expires_at.into(),
        run.stop_requested_at.into(),
        run.error.as_ref().into(),
        run.result.as_ref().map(RawJson::as_str).into(),
        run.claimed_at.into(),
        run.started_at.into(),
        run.ended_at.into(),
        run.id.as_str().into(),
    ];
    tx.execute(SAVE, &params).map(drop)
}
