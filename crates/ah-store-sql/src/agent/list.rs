//! Lists of agents by name, and of an agent's sessions by number.

use ah_model::{Agent, AgentFilter, AgentId, Cursor, Order, Page, PageRequest, Session};
use ah_store::StoreError;

use super::row::{SELECT, read};
use super::{Access, get};
use crate::page::{foreign_cursor, number_cursor, sized_page};
use crate::session;
use crate::statement::Statement;
use crate::tx::{Tx, query_all};

pub(super) fn agents(
    tx: &mut dyn Tx,
    filter: &AgentFilter,
    page: &PageRequest,
) -> Result<Page<Agent>, StoreError> {
    let from = match &page.cursor {
        None => "",
        Some(Cursor::Text(name)) => name,
        Some(other) => return Err(foreign_cursor(other)),
    };
    let read = |last: Option<&Agent>, rows| {
        some_agents(tx, filter, last.map_or(from, |agent| &agent.name), rows)
    };
    sized_page(page.limit, read, size, cursor)
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
    // As it is read: a lifecycle that nobody knows is asleep.
    let lifecycle =
        "CASE WHEN i.lifecycle IN ('active', 'dead') THEN i.lifecycle ELSE 'sleeping' END";
    query.any_of(lifecycle, words);
    if let Some(agent_type) = &filter.agent_type {
        query.condition("i.type = ", agent_type.as_str());
    }
    if let Some(kind) = &filter.kind {
        query.condition("k.name = ", kind);
    }
    if let Some(name) = &name {
        query.contains("i.name", name);
    }
    match filter.destroyed {
        Some(true) => drop(query.push(" AND i.destroyed_at IS NOT NULL")),
        Some(false) => drop(query.push(" AND i.destroyed_at IS NULL")),
        None => {}
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
    let read = |last: Option<&Session>, rows| {
        let from = last.map(number).or(from);
        some_sessions(tx, id, order, from, rows)
    };
    sized_page(page.limit, read, session::size, |session| Cursor::Number(number(session)))
}

fn number(session: &Session) -> i64 {
    let number = session.of_agent.as_ref().map_or(0, |membership| membership.number);
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn some_sessions(
    tx: &mut dyn Tx,
    id: &AgentId,
    order: Order,
    from: Option<i64>,
    rows: usize,
) -> Result<Vec<Session>, StoreError> {
    let mut query = Statement::new(session::SELECT, tx.dialect());
    query.push(" WHERE s.instance_id = ").param(id.as_str());
    let direction = match order {
        Order::Oldest => {
            query.condition("s.instance_number > ", from.unwrap_or(0));
            "ASC"
        }
        Order::Newest => {
            query.condition("s.instance_number < ", from.unwrap_or(i64::MAX));
            "DESC"
        }
    };
    query.push(&format!(" ORDER BY s.instance_number {direction} LIMIT ")).param(rows as u64);
    query_all(tx, &query.sql, &query.params, session::read)
}
