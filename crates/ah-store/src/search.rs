//! Search.

use ah_model::{IndexStep, Page, PageLimit, PageRequest, SearchHit, SearchQuery};
use async_trait::async_trait;

use crate::StoreError;

/// Events by the words in them.
///
/// What is searched is an index that no writer waits for: it is brought up to date in steps, beside
/// the writers. What is gone is never found, whatever the index holds.
#[async_trait]
pub trait Searches {
    /// The events of the index that are meant, the last that were appended first. A page may be
    /// short, or empty, and still say where to go on: one call looks at no more than
    /// [`ah_model::limits::SEARCH_ROWS_MAX`] events.
    async fn search(
        &self,
        query: SearchQuery,
        page: PageRequest,
    ) -> Result<Page<SearchHit>, StoreError>;

    /// Brings at most `limit` events into the index, in the order in which they were appended, and
    /// takes out some of those that are gone: one short transaction, so that no writer waits long.
    /// An index that was made by other rules is emptied first.
    async fn update_search_index(&self, limit: PageLimit) -> Result<IndexStep, StoreError>;

    /// Empties the index; steps of upkeep fill it anew.
    async fn clear_search_index(&self) -> Result<(), StoreError>;
}
