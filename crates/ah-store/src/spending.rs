//! Spendings.

use ah_model::{DaySpending, Page, PageRequest, Spending, SpendingFilter};
use async_trait::async_trait;

use crate::StoreError;

/// What sessions cost, as their events say.
#[async_trait]
pub trait Spendings {
    /// What sessions spent by day and model, in the order of session, day, whether the cost was
    /// told, and model. An event counts when it is appended, on the day of its own time; what a
    /// session spent goes when the session goes.
    async fn list_spendings(
        &self,
        filter: SpendingFilter,
        page: PageRequest,
    ) -> Result<Page<Spending>, StoreError>;

    /// The sums of the same by day, whether the cost was told, and model: the newest day first, at most
    /// [`SPENDING_SUMS_MAX`](ah_model::limits::SPENDING_SUMS_MAX) of them.
    async fn spending_sums(&self, filter: SpendingFilter) -> Result<Vec<DaySpending>, StoreError>;
}
