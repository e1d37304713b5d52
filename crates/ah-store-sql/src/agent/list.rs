//! Lists of agents by name, and of an agent's sessions by number.

use ah_model::{Agent, AgentFilter, AgentId, Cursor, Order, Page, PageRequest, Session, limits};
use ah_store::StoreError;

use super::row::{SELECT, read};
use super::{Access, get};
use crate::page::{foreign_cursor, number_cursor};
use crate::session;
use crate::statement::Statement;
use crate::tx::{Tx, query_all};

/// Rows of one statement: PostgreSQL sends all of them at once, and an agent may be a megabyte.
const ROWS_AT_ONCE: usize = 250;

pub(super) fn agents(
    tx: &mut dyn Tx,
    filter: &AgentFilter,
    page: &PageRequest,
) -> Result<Page<Agent>, StoreError> {
    let mut after = match &page.cursor {
        None => String::new(),
        Some(Cursor::Text(name)) => name.clone(),
        Some(other) => return Err(foreign_cursor(other)),
    };
    let (mut agents, mut bytes): (Vec<Agent>, _) = (Vec::new(), 0);
    loop {
        let rows = (page.limit.get() + 1 - agents.len()).min(ROWS_AT_ONCE);
        let found = some_agents(tx, filter, &after, rows)?;
        let ended = found.len() < rows;
        for agent in found {
            // One more than fits says that there is a next page.
            if agents.len() == page.limit.get() || (bytes > limits::PAGE_BYTES_MAX) {
                return Ok(Page { next_cursor: agents.last().map(cursor), items: agents });
            }
            bytes += size(&agent);
            after.clone_from(&agent.name);
            agents.push(agent);
        }
        if ended {
            return Ok(Page { items: agents, next_cursor: None });
        }
    }
}

fn cursor(agent: &Agent) -> Cursor {
    Cursor::Text(agent.name.clone())
}

fn size(agent: &Agent) -> usize {
    [&agent.descriptor, &agent.permissions, &agent.tokens, &agent.stats, &agent.metadata]
        .iter()
        .map(|json| json.as_str().len())
        .sum()
}

fn some_agents(
    tx: &mut dyn Tx,
    filter: &AgentFilter,
    after: &str,
    rows: usize,
) -> Result<Vec<Agent>, StoreError> {
    let name = filter.name.as_ref().map(|name| name.to_ascii_lowercase());
    let mut query = Statement::new(SELECT, tx.dialect());
    query.push(" WHERE i.name > ").param(after);
    let words = filter.lifecycles.iter().map(|lifecycle| lifecycle.as_str());
    query.any_of("i.lifecycle", words);
    if let Some(agent_type) = &filter.agent_type {
        query.condition("i.type = ", agent_type.as_str());
    }
    if let Some(kind) = &filter.kind {
        query.condition("k.name = ", kind);
    }
    if let Some(name) = &name {
        query.contains("i.name", name);
    }
    query.push(" ORDER BY i.name LIMIT ").param(rows as u64);
    query_all(tx, &query.sql, &query.params, read)
}

pub(super) fn sessions(
    tx: &mut dyn Tx,
    id: &AgentId,
    order: Order,
    page: &PageRequest,
) -> Result<Page<Session>, StoreError> {
    get(tx, id, Access::Read)?;
    let from = number_cursor(page.cursor.as_ref())?;
    let mut query = Statement::new(session::SELECT, tx.dialect());
    query.push(" WHERE s.instance_id = ").param(id.as_str());
    match order {
        Order::Oldest => query.condition("s.instance_number > ", from.unwrap_or(0)),
        Order::Newest => query.condition("s.instance_number < ", from.unwrap_or(i64::MAX)),
    }
    let direction = match order {
        Order::Oldest => "ASC",
        Order::Newest => "DESC",
    };
    query.push(&format!(" ORDER BY s.instance_number {direction} LIMIT "));
    query.param(page.limit.get() as u64 + 1);
    let sessions = query_all(tx, &query.sql, &query.params, session::read)?;
    Ok(Page::from_overfull(sessions, page.limit, |session| {
        let number = session.of_agent.as_ref().map_or(0, |membership| membership.number);
        Cursor::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }))
}
