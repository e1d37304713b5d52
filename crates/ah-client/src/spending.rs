//! Spendings.

use ah_model::{DaySpending, Page, PageRequest, Spending, SpendingFilter};
use ah_store::{Spendings, StoreError};
use async_trait::async_trait;

use crate::RestStore;
use crate::address::Target;

#[async_trait]
impl Spendings for RestStore {
    async fn list_spendings(
        &self,
        filter: SpendingFilter,
        page: PageRequest,
    ) -> Result<Page<Spending>, StoreError> {
        self.http.list(Target::new(["spendings"]).query(&filter).query(&page))
    }

    async fn spending_sums(&self, filter: SpendingFilter) -> Result<Vec<DaySpending>, StoreError> {
        self.http.items(Target::new(["spendings", "sums"]).query(&filter))
    }
}
