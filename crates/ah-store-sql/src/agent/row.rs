//! The row of an agent, read with its kind joined in.

use ah_model::{Agent, AgentKindRef, AgentType, Lifecycle, Timestamp};
use ah_store::StoreError;

use crate::names;
use crate::reader::Reader;
use crate::session::read_origin;
use crate::tx::{Param, Row, Tx, query_first};
use crate::{agent_kind, usage};

/// Every column [`read`] takes, and where they come from.
pub(super) const SELECT: &str = "SELECT i.id, i.name, i.type, k.name, k.version, i.lifecycle, \
    i.protected, i.destroyed_at, i.model, i.descriptor, i.permissions, i.tokens, i.stats, i.metadata, i.source, i.external_id, \
    i.active_session_id, i.session_count, i.input_tokens, i.output_tokens, i.cache_read_tokens, \
    i.cache_write_tokens, i.reasoning_tokens, i.revision, i.created_at, i.updated_at \
    FROM agent_instances i JOIN agents k ON k.id = i.kind_id";

/// The agent that `condition` names.
pub(super) fn find(
    tx: &mut dyn Tx,
    condition: &str,
    params: &[Param<'_>],
) -> Result<Option<Agent>, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE {condition}"), params, read)
}

/// Reads leniently: a lifecycle that nobody knows is asleep, rather than the end of a whole list.
/// `check` names such rows.
pub(super) fn read(row: &dyn Row) -> Result<Agent, StoreError> {
    let row = Reader::new(row);
    Ok(Agent {
        id: row.parse()?,
        name: row.text()?,
        agent_type: AgentType::of(&row.text()?),
        kind: AgentKindRef { name: row.text()?, version: row.text()? },
        lifecycle: row.text()?.parse().unwrap_or(Lifecycle::Sleeping),
        protected: row.bool()?,
        destroyed_at: row.opt_time()?,
        model: row.opt_text()?,
        descriptor: row.json()?,
        permissions: row.json()?,
        tokens: row.json()?,
        stats: row.json()?,
        metadata: row.json()?,
        origin: read_origin(&row)?,
        active_session_id: row.opt_parse()?,
        session_count: row.uint()?,
        usage: usage::read(&row)?,
        revision: row.uint()?,
        created_at: row.time().unwrap_or(Timestamp::EPOCH),
        updated_at: row.time().unwrap_or(Timestamp::EPOCH),
    })
}

const INSERT: &str = "INSERT INTO agent_instances (id, name, kind_id, type, source, external_id, \
    created_at, descriptor, permissions, tokens, stats, metadata, lifecycle, model, session_count, \
    revision, updated_at, protected) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
    $15, $16, $17, $18)";

/// Writes a new row, without an active session: that refers back to it.
pub(super) fn insert(tx: &mut dyn Tx, agent: &Agent) -> Result<(), StoreError> {
    let kind = agent_kind::ensure(tx, &agent.kind)?;
    let origin = agent.origin.as_ref();
    let params = [
        agent.id.as_str().into(),
        (&agent.name).into(),
        kind.into(),
        agent.agent_type.as_str().into(),
        origin.map(|origin| &origin.source).into(),
        origin.map(|origin| &origin.external_id).into(),
        agent.created_at.into(),
        agent.descriptor.as_str().into(),
        agent.permissions.as_str().into(),
        agent.tokens.as_str().into(),
        agent.stats.as_str().into(),
        agent.metadata.as_str().into(),
        agent.lifecycle.as_str().into(),
        agent.model.as_ref().into(),
        agent.session_count.into(),
        agent.revision.into(),
        agent.updated_at.into(),
        agent.protected.into(),
    ];
    names::forget(tx);
    tx.execute(INSERT, &params).map(drop)
}

const SAVE: &str = "UPDATE agent_instances SET descriptor = $1, permissions = $2, tokens = $3, \
    stats = $4, metadata = $5, lifecycle = $6, model = $7, session_count = $8, revision = $9, \
    updated_at = $10, active_session_id = $11, type = $12, protected = $13, \
    destroyed_at = $14 WHERE id = $15";

/// Writes what can change, except the totals: those belong to appends.
pub(super) fn save(tx: &mut dyn Tx, agent: &Agent) -> Result<(), StoreError> {
    let params = [
        agent.descriptor.as_str().into(),
        agent.permissions.as_str().into(),
        agent.tokens.as_str().into(),
        agent.stats.as_str().into(),
        agent.metadata.as_str().into(),
        agent.lifecycle.as_str().into(),
        agent.model.as_ref().into(),
        agent.session_count.into(),
        agent.revision.into(),
        agent.updated_at.into(),
        agent.active_session_id.as_ref().map(|id| id.as_str()).into(),
        agent.agent_type.as_str().into(),
        agent.protected.into(),
        agent.destroyed_at.into(),
        agent.id.as_str().into(),
    ];
    names::forget(tx);
    tx.execute(SAVE, &params).map(drop)
}
