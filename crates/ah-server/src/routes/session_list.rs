//! Lists of sessions: by cursor as every list, and by page numbers as in the first API.

use ah_model::{Cursor, Page, PageLimit, PageRequest, Session, SessionFilter};
use ah_store::{Store, StoreError};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::{Answer, ok};
use crate::extract::Pairs;
use crate::limits::COUNTED_SESSIONS_MAX;
use crate::links::{Linked, linked};
use crate::problem::Failure;
use crate::state::ServerState;

pub(super) async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let filter = filter(&pairs)?;
    if let Some(numbered) = Numbered::read(&pairs)? {
        let page = state.call(move |store| async move { numbered.find(&*store, filter).await });
        return ok(&page.await?);
    }
    let page = pairs.read()?;
    let page = state.call(|store| async move { store.list_sessions(filter, page).await }).await?;
    let Page { items, next_cursor } = linked(page);
    ok(&Listed { items, next_cursor, pagination: None })
}

/// The first API groups sessions by project; here that is the repository.
fn filter(pairs: &Pairs) -> Result<SessionFilter, Failure> {
    let mut filter: SessionFilter = pairs.read()?;
    if let Some(project) = pairs.number("projectId")? {
        filter.repo_id = Some(project);
    }
    Ok(filter)
}

/// A page by its number, from 1.
#[derive(Clone, Copy)]
struct Numbered {
    page: u64,
    per_page: PageLimit,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SessionPage")]
pub(super) struct Listed {
    /// The sessions, in the list's order.
    items: Vec<Linked>,
    /// Where the next page starts; absent after the last, and when pages are asked by number.
    next_cursor: Option<Cursor>,
    /// Where a page that was asked by number stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
/// A page by its number.
struct Pagination {
    page: u64,
    per_page: usize,
    /// How many there are; counting stops at 100,000.
    total: u64,
    total_pages: u64,
}

impl Numbered {
    fn read(pairs: &Pairs) -> Result<Option<Self>, Failure> {
        let (page, per_page) = (pairs.number("page")?, pairs.number("perPage")?);
        if page.is_none() && per_page.is_none() {
            return Ok(None);
        }
        let page = page.unwrap_or(1);
        if page == 0 {
            return Err(Failure::invalid("page", "0, they count from 1"));
        }
        let per_page = per_page.map_or(Ok(PageLimit::default()), PageLimit::new)?;
        Ok(Some(Self { page, per_page }))
    }

    /// Walks the list by its cursors, because the contract neither counts nor skips. Beyond
    /// [`COUNTED_SESSIONS_MAX`] sessions `total` is that number, and pages are empty.
    async fn find(self, store: &dyn Store, filter: SessionFilter) -> Result<Listed, StoreError> {
        let per_page = self.per_page.get() as u64;
        let first = (self.page - 1).saturating_mul(per_page);
        let wanted = first..first.saturating_add(per_page);
        let (mut items, mut total, mut cursor) = (Vec::new(), 0, None);
        while total < COUNTED_SESSIONS_MAX {
            let request = PageRequest { limit: PageLimit::MAX, cursor };
            let page: Page<Session> = store.list_sessions(filter.clone(), request).await?;
            for session in page.items {
                if wanted.contains(&total) {
                    items.push(Linked::from(session));
                }
                total += 1;
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        let pagination = Pagination {
            page: self.page,
            per_page: self.per_page.get(),
            total,
            total_pages: total.div_ceil(per_page),
        };
        Ok(Listed { items, next_cursor: None, pagination: Some(pagination) })
    }
}
