//! Spendings.

use ah_model::{Page, PageRequest, Spending, SpendingFilter};
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
}
