//! Search in SQL: an index of words (FTS5 on SQLite, a GIN index on PostgreSQL) that names the events
//! that may be meant. What decides is the event itself, so both engines find the same.

mod index;
mod terms;
pub(crate) mod upkeep;

use std::collections::HashMap;

use ah_model::{
    Cursor, Event, IndexStep, Page, PageLimit, PageRequest, SearchHit, SearchQuery, limits,
};
use ah_store::{Searches, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::number_cursor;
use crate::reader::Reader;
use crate::statement::Statement;
use crate::tx::{Dialect, More, Row, Tx};

/// Numbers that are asked of the index at once: first few, for the first page is mostly full soon.
const CANDIDATES_AT_FIRST: usize = 64;
const CANDIDATES_MAX: usize = 512;
/// Events that are read at once. PostgreSQL sends all rows of a statement, and one may be megabytes.
const EVENTS_AT_ONCE: usize = 16;

#[async_trait]
impl Searches for SqlStore {
    async fn search(
        &self,
        query: SearchQuery,
        page: PageRequest,
    ) -> Result<Page<SearchHit>, StoreError> {
        query.check()?;
        let before = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
        self.read(move |tx, _| find(tx, &query, before, page.limit)).await
    }

    async fn update_search_index(&self, limit: PageLimit) -> Result<IndexStep, StoreError> {
        upkeep::step(self, limit).await
    }

    async fn clear_search_index(&self) -> Result<(), StoreError> {
        self.write(|tx, _| index::clear(tx)).await
    }
}

/// Walks down the numbers that the index names until the page is full, or enough was looked at.
fn find(
    tx: &mut dyn Tx,
    query: &SearchQuery,
    before: i64,
    limit: PageLimit,
) -> Result<Page<SearchHit>, StoreError> {
    let wanted = terms::expression(query, tx.dialect());
    let (mut hits, mut before) = (Vec::new(), before);
    let (mut looked_at, mut rows) = (0, CANDIDATES_AT_FIRST);
    while looked_at < limits::SEARCH_ROWS_MAX {
        let numbers = index::named(tx, &wanted, before, rows)?;
        for numbers in numbers.chunks(EVENTS_AT_ONCE) {
            let mut found = meant(tx, query, numbers)?;
            hits.extend(numbers.iter().filter_map(|n| found.remove(n).map(|hit| (*n, hit))));
            before = numbers.last().copied().unwrap_or(before);
            // One more than fits says that there is a next page.
            if hits.len() > limit.get() {
                return Ok(page_of(hits, limit));
            }
        }
        if numbers.len() < rows {
            return Ok(page_of(hits, limit));
        }
        looked_at += numbers.len();
        rows = CANDIDATES_MAX;
    }
    let next_cursor = Some(Cursor::Number(before));
    Ok(Page { items: hits.into_iter().map(|(_, hit)| hit).collect(), next_cursor })
}

fn page_of(hits: Vec<(i64, SearchHit)>, limit: PageLimit) -> Page<SearchHit> {
    let page = Page::from_overfull(hits, limit, |(number, _)| Cursor::Number(*number));
    let items = page.items.into_iter().map(|(_, hit)| hit).collect();
    Page { items, next_cursor: page.next_cursor }
}

const EVENTS: &str = "SELECT e.id, e.session_id, e.seq, e.ts, e.type, e.data, s.title \
    FROM events e JOIN sessions s ON s.id = e.session_id JOIN agents a ON a.id = s.agent_id \
    WHERE e.id IN (";

/// Those of the numbers whose events are there and are meant.
fn meant(
    tx: &mut dyn Tx,
    query: &SearchQuery,
    numbers: &[i64],
) -> Result<HashMap<i64, SearchHit>, StoreError> {
    let mut sql = Statement::new(EVENTS, tx.dialect());
    // Always as many, so that few different statements are prepared.
    let last = numbers.last().copied().unwrap_or(0);
    for at in 0..EVENTS_AT_ONCE {
        sql.push(if at == 0 { "" } else { ", " });
        sql.param(numbers.get(at).copied().unwrap_or(last));
    }
    sql.push(")");
    conditions(&mut sql, query);
    let mut found = HashMap::new();
    tx.query(&sql.sql, &sql.params, &mut |row| {
        // One that cannot be read costs its own reading, not the search.
        if let Ok((number, event, title)) = read(row)
            && let Some(hit) = SearchHit::of(event, title, query)
        {
            found.insert(number, hit);
        }
        Ok(More::Yes)
    })?;
    Ok(found)
}

fn conditions<'a>(sql: &mut Statement<'a>, query: &'a SearchQuery) {
    if let Some(session) = &query.session_id {
        sql.condition("e.session_id = ", session.as_str());
    }
    if let Some(repo) = query.repo_id {
        sql.condition("s.repo_id = ", repo);
    }
    if let Some(agent) = &query.agent {
        sql.condition("a.name = ", agent);
    }
    if let Some(since) = query.since {
        sql.condition("e.ts >= ", since);
    }
    sql.any_of("e.type", query.types.iter().map(String::as_str));
}

fn read(row: &dyn Row) -> Result<(i64, Event, Option<String>), StoreError> {
    let row = Reader::new(row);
    let (number, session_id) = (row.int()?, row.parse()?);
    let (seq, ts, kind, data) = (row.uint()?, row.time()?, row.text()?, row.json()?);
    let event = Event { session_id, seq, ts, kind, data, dedup_key: None };
    Ok((number, event, row.opt_text()?))
}

impl Dialect {
    /// The column of the index that has the numbers of the events.
    fn index_key(self) -> &'static str {
        match self {
            Self::Sqlite => "rowid",
            Self::Postgres => "id",
        }
    }
}
#[cfg(test)]
mod tests;
