//! Search in the oracle: every event is looked at.

use ah_model::{
    Cursor, Event, IndexState, IndexStep, Page, PageLimit, PageRequest, SearchHit, SearchQuery,
};
use ah_store::{Searches, StoreError};
use async_trait::async_trait;

use super::{ModelStore, Rows, after_number, overfull};

#[async_trait]
impl Searches for ModelStore {
    async fn search(
        &self,
        query: SearchQuery,
        page: PageRequest,
    ) -> Result<Page<SearchHit>, StoreError> {
        query.check()?;
        let before = after_number(&page)?.unwrap_or(i64::MAX);
        self.read(|rows| {
            let newest = rows.happenings.events().rev();
            let hits = newest.filter_map(|(number, event)| {
                let number = i64::try_from(number).unwrap();
                let known = number < before && number <= rows.searched;
                let hit = known.then(|| rows.hit(event, &query)).flatten()?;
                Some((number, hit))
            });
            let items = overfull(hits, &page);
            let cursor = |(number, _): &(i64, SearchHit)| Cursor::Number(*number);
            let Page { items, next_cursor } = Page::from_overfull(items, page.limit, cursor);
            Ok(Page { items: items.into_iter().map(|(_, hit)| hit).collect(), next_cursor })
        })
    }

    async fn update_search_index(&self, limit: PageLimit) -> Result<IndexStep, StoreError> {
        self.write(|rows, _| {
            let numbers =
                rows.happenings.events().map(|(number, _)| i64::try_from(number).unwrap());
            let waiting: Vec<i64> = numbers.filter(|number| *number > rows.searched).collect();
            let indexed = waiting.len().min(limit.get());
            rows.searched = waiting[..indexed].last().copied().unwrap_or(rows.searched);
            let left = (waiting.len() - indexed) as u64;
            let state = if left == 0 { IndexState::Done } else { IndexState::More };
            Ok(IndexStep { indexed: indexed as u64, removed: 0, left, state })
        })
    }

    async fn clear_search_index(&self) -> Result<(), StoreError> {
        self.write(|rows, _| {
            rows.searched = 0;
            Ok(())
        })
    }
}

impl Rows {
    fn hit(&self, event: &Event, query: &SearchQuery) -> Option<SearchHit> {
        let session = self.sessions.get(&event.session_id)?;
        let asked = query.session_id.as_ref().is_none_or(|id| *id == event.session_id)
            && query.repo_id.is_none_or(|id| session.repo_id == Some(id))
            && query.agent.as_ref().is_none_or(|name| *name == session.agent.name)
            && query.since.is_none_or(|since| event.ts >= since)
            && (query.types.is_empty() || query.types.contains(&event.kind));
        asked.then(|| SearchHit::of(event.clone(), session.title.clone(), query)).flatten()
    }
}
