//! Token totals in SQL: kept on the row of a session, and on that of its agent.

use ah_model::Usage;
use ah_store::{Kind, StoreError};

use crate::reader::Reader;
use crate::tx::{Tx, query_all, query_first};

/// Whose totals.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner<'a> {
    Session(&'a str),
    Agent(&'a str),
}

const OF_SESSION: &str = "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, \
    reasoning_tokens FROM sessions WHERE id = $1";
const SET_SESSION: &str = "UPDATE sessions SET input_tokens = $1, output_tokens = $2, \
    cache_read_tokens = $3, cache_write_tokens = $4, reasoning_tokens = $5 WHERE id = $6";
const OF_AGENT: &str = "SELECT input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, \
    reasoning_tokens FROM agent_instances WHERE id = $1";
const SET_AGENT: &str = "UPDATE agent_instances SET input_tokens = $1, output_tokens = $2, \
    cache_read_tokens = $3, cache_write_tokens = $4, reasoning_tokens = $5 WHERE id = $6";

/// The next columns as totals.
pub(crate) fn read(row: &Reader<'_>) -> Result<Usage, StoreError> {
    Ok(Usage {
        input_tokens: row.uint()?,
        output_tokens: row.uint()?,
        cache_read_tokens: row.uint()?,
        cache_write_tokens: row.uint()?,
        reasoning_tokens: row.uint()?,
    })
}

/// The totals alone: an odd value elsewhere in the row is no reason to refuse an event.
pub(crate) fn of(tx: &mut dyn Tx, owner: Owner<'_>) -> Result<Usage, StoreError> {
    let (sql, kind, id) = match owner {
        Owner::Session(id) => (OF_SESSION, Kind::Session, id),
        Owner::Agent(id) => (OF_AGENT, Kind::Agent, id),
    };
    query_first(tx, sql, &[id.into()], |row| read(&Reader::new(row)))?
        .ok_or_else(|| StoreError::not_found(kind, id))
}

/// Adds to the totals of a row that the transaction has locked.
pub(crate) fn add(tx: &mut dyn Tx, owner: Owner<'_>, spent: Usage) -> Result<(), StoreError> {
    let total = of(tx, owner)?.plus(spent);
    set(tx, owner, total)
}

const OF_SESSIONS: &str = "SELECT input_tokens, output_tokens, cache_read_tokens, \
    cache_write_tokens, reasoning_tokens FROM sessions WHERE instance_id = $1";

/// Makes an agent's totals those of the sessions it has.
pub(crate) fn recount(tx: &mut dyn Tx, agent: &str) -> Result<(), StoreError> {
    let spent = query_all(tx, OF_SESSIONS, &[agent.into()], |row| read(&Reader::new(row)))?;
    set(tx, Owner::Agent(agent), spent.into_iter().fold(Usage::default(), Usage::plus))
}

fn set(tx: &mut dyn Tx, owner: Owner<'_>, total: Usage) -> Result<(), StoreError> {
    let (sql, id) = match owner {
        Owner::Session(id) => (SET_SESSION, id),
        Owner::Agent(id) => (SET_AGENT, id),
    };
    let params = [
        total.input_tokens.into(),
        total.output_tokens.into(),
        total.cache_read_tokens.into(),
        total.cache_write_tokens.into(),
        total.reasoning_tokens.into(),
        id.into(),
    ];
    tx.execute(sql, &params).map(drop)
}
