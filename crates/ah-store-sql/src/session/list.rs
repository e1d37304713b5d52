//! Lists of sessions: one walk along the index of last activity, newest first.

use ah_model::{Cursor, Page, PageRequest, Session, SessionFilter, SessionStatus, Timestamp};
use ah_store::StoreError;

use super::row::{SELECT, read};
use crate::page::{foreign_cursor, sized_page};
use crate::statement::Statement;
use crate::tx::{Tx, query_all};

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
    let read = |last: Option<&Session>, rows: usize| {
        let (at, id) = last.map_or((at, id), |s| (s.last_activity_at, s.id.as_str()));
        let mut query = Statement::new(SELECT, tx.dialect());
        query.push(" WHERE (s.last_activity_at, s.id) < (").param(at).push(", ").param(id);
        query.push(")");
        conditions(&mut query, filter, title.as_deref());
        query.push(" ORDER BY s.last_activity_at DESC, s.id DESC LIMIT ").param(rows as u64);
        query_all(tx, &query.sql, &query.params, read)
    };
    sized_page(page.limit, read, size, |session| Cursor::Activity {
        at: session.last_activity_at,
        id: session.id.to_string(),
    })
}

/// The bytes of what may be large.
pub(crate) fn size(session: &Session) -> usize {
    session.details.reset_message.as_ref().map_or(0, String::len)
}

/// The few sessions that are worked on have an index of their own, which serves where the statement
/// has its very words.
const LIVE: [SessionStatus; 2] = [SessionStatus::Running, SessionStatus::Stopping];

fn conditions<'a>(query: &mut Statement<'a>, filter: &'a SessionFilter, title: Option<&'a str>) {
    let is_live = |status: &SessionStatus| LIVE.contains(status);
    if !filter.statuses.is_empty() && filter.statuses.iter().all(is_live) {
        query.one_of_ours("s.status", LIVE.map(SessionStatus::as_str).to_vec());
    }
    query.any_of("s.status", filter.statuses.iter().map(|status| status.as_str()));
    if let Some(repo) = filter.repo_id {
        query.condition("s.repo_id = ", repo);
    }
    if let Some(agent) = &filter.agent {
        query.condition("a.name = ", agent);
    }
    if let Some(version) = &filter.agent_version {
        query.condition("a.version = ", version);
    }
    if let Some(since) = filter.since {
        query.condition("s.last_activity_at >= ", since);
    }
    if let Some(until) = filter.until {
        query.condition("s.last_activity_at < ", until);
    }
    if let Some(parent) = &filter.parent {
        query.condition("s.parent_session_id = ", parent.as_str());
    }
    if let Some(origin) = &filter.forked_from {
        query.condition("s.forked_from = ", origin.as_str());
    }
    for (key, value) in &filter.labels.0 {
        query.condition("s.id IN (SELECT session_id FROM session_labels WHERE k = ", key);
        query.condition("v = ", value);
        query.push(")");
    }
    if let Some(title) = title {
        query.contains("coalesce(s.title, '')", title);
    }
}
