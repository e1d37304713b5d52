//! Lists of sessions: one walk along the index of last activity, newest first.

use ah_model::{Cursor, Page, PageRequest, Session, SessionFilter, Timestamp};
use ah_store::StoreError;

use super::row::{SELECT, read};
use crate::page::foreign_cursor;
use crate::tx::{Dialect, Param, Tx, query_all};

pub(super) fn list(
    tx: &mut dyn Tx,
    filter: &SessionFilter,
    page: &PageRequest,
) -> Result<Page<Session>, StoreError> {
    let (at, id) = match &page.cursor {
        // Sorts after every session: ids are ASCII.
        None => (Timestamp::MAX, "\u{7f}"),
        Some(Cursor::Activity { at, id }) => (*at, id.as_str()),
        Some(other) => return Err(foreign_cursor(other)),
    };
    let title = filter.title.as_ref().map(|title| title.to_ascii_lowercase());
    let mut query = Query { sql: SELECT.to_owned(), params: Vec::new(), dialect: tx.dialect() };
    query.sql.push_str(" WHERE (s.last_activity_at, s.id) < (");
    query.param(at);
    query.sql.push_str(", ");
    query.param(id);
    query.sql.push(')');
    query.conditions(filter, title.as_deref());
    query.sql.push_str(" ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ");
    query.param(page.limit.get() as u64 + 1);
    let sessions = query_all(tx, &query.sql, &query.params, read)?;
    Ok(Page::from_overfull(sessions, page.limit, |session| Cursor::Activity {
        at: session.last_activity_at,
        id: session.id.to_string(),
    }))
}

/// A statement under construction: only the conditions that are asked for are in it.
struct Query<'a> {
    sql: String,
    params: Vec<Param<'a>>,
    dialect: Dialect,
}

impl<'a> Query<'a> {
    fn param(&mut self, value: impl Into<Param<'a>>) {
        self.params.push(value.into());
        self.sql.push_str(&format!("${}", self.params.len()));
    }

    fn condition(&mut self, text: &str, value: impl Into<Param<'a>>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(text);
        self.param(value);
    }

    fn conditions(&mut self, filter: &'a SessionFilter, title: Option<&'a str>) {
        if !filter.statuses.is_empty() {
            self.sql.push_str(" AND s.status IN (");
            for (at, status) in filter.statuses.iter().enumerate() {
                self.sql.push_str(if at == 0 { "" } else { ", " });
                self.param(status.as_str());
            }
            self.sql.push(')');
        }
        if let Some(repo) = filter.repo_id {
            self.condition("s.repo_id = ", repo);
        }
        if let Some(agent) = &filter.agent {
            self.condition("a.name = ", agent);
        }
        if let Some(version) = &filter.agent_version {
            self.condition("a.version = ", version);
        }
        if let Some(since) = filter.since {
            self.condition("s.last_activity_at >= ", since);
        }
        if let Some(until) = filter.until {
            self.condition("s.last_activity_at < ", until);
        }
        if let Some(parent) = &filter.parent {
            self.condition("s.parent_session_id = ", parent.as_str());
        }
        for (key, value) in &filter.labels.0 {
            self.condition("s.id IN (SELECT session_id FROM session_labels WHERE k = ", key);
            self.condition("v = ", value);
            self.sql.push(')');
        }
        if let Some(title) = title {
            self.params.push(title.into());
            let mark = format!("${}", self.params.len());
            let contains = self.dialect.contains("coalesce(s.title, '')", &mark);
            self.sql.push_str(&format!(" AND {contains}"));
        }
    }
}
