//! Runtimes: where agents have executed.

use ah_model::{Page, PageRequest, RawJson, Runtime, RuntimeSpec};
use async_trait::async_trait;

use crate::StoreError;

/// Runtimes.
#[async_trait]
pub trait Runtimes {
    /// Registers `spec`, or replaces the metadata of a known one when some is given.
    async fn put_runtime(
        &self,
        spec: RuntimeSpec,
        metadata: Option<RawJson>,
    ) -> Result<Runtime, StoreError>;

    /// The runtimes, by number.
    async fn list_runtimes(&self, page: PageRequest) -> Result<Page<Runtime>, StoreError>;
}
