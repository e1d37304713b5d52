//! The one way from a request into the store.
//!
//! A store may block its caller for a moment (SQLite reads and lone writes do), so calls run on
//! threads of their own, a bounded number at once. Waiting for news does not block and would hold a
//! thread for a minute, so the one task that follows the feed awaits it where it is.

use std::future::Future;
use std::sync::Arc;

use ah_store::{Store, StoreError, block_on};
use tokio::time::timeout;

use crate::limits::{CALL_WAIT_MAX, RETRY_AFTER};
use crate::problem::Failure;
use crate::state::ServerState;

impl ServerState {
    /// Runs `work` on the store. It is carried through even if the client goes away meanwhile.
    pub(crate) async fn call<T, F>(
        &self,
        work: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
        T: Send + 'static,
    {
        let turn = timeout(CALL_WAIT_MAX, Arc::clone(&self.calls).acquire_owned()).await;
        let Ok(Ok(permit)) = turn else {
            return Err(StoreError::Busy { retry_after: RETRY_AFTER }.into());
        };
        let store = Arc::clone(&self.store);
        let call = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            block_on(work(store))
        });
        let done = call.await.map_err(|_| Failure::internal("a call into the store broke off"))?;
        done.map_err(|error| self.refused(error))
    }

    /// As [`Self::call`] for appends, by far the most frequent calls: a store that is served waits
    /// for the disk on a thread of its own, so these need none. Carried through as well.
    pub(crate) async fn append<T, F>(
        &self,
        work: impl FnOnce(Arc<dyn Store>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
        T: Send + 'static,
    {
        let done = tokio::spawn(work(Arc::clone(&self.store))).await;
        let done = done.map_err(|_| Failure::internal("a call into the store broke off"))?;
        done.map_err(|error| self.refused(error))
    }

    fn refused(&self, error: StoreError) -> Failure {
        self.metrics.store_error(&error);
        error.into()
    }
}
