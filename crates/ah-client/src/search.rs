//! Search.

use ah_model::{IndexStep, Page, PageLimit, PageRequest, SearchHit, SearchQuery};
use ah_store::{Searches, StoreError};
use async_trait::async_trait;
use ureq::http::Method;

use crate::RestStore;
use crate::address::Target;

fn index_target() -> Target {
    Target::new(["search", "index"])
}

#[async_trait]
impl Searches for RestStore {
    async fn search(
        &self,
        query: SearchQuery,
        page: PageRequest,
    ) -> Result<Page<SearchHit>, StoreError> {
        self.http.list(Target::new(["search"]).query(&query).query(&page))
    }

    async fn update_search_index(&self, limit: PageLimit) -> Result<IndexStep, StoreError> {
        let limit = PageRequest { limit, cursor: None };
        self.http.order(Method::POST, &index_target().query(&limit))
    }

    async fn clear_search_index(&self) -> Result<(), StoreError> {
        self.http.delete(&index_target())
    }
}
