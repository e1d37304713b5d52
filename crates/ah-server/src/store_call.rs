//! The one way from a request into the store.
//!
//! A store may block its caller for a moment (SQLite reads and lone writes do), so calls run on
//! threads of their own, a bounded number at once. Waiting for news does not block and would hold a
//! thread for a minute, so the one task that follows the feed awaits it where it is, and who waits for
//! mail, an answer or a decision does.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ah_hive::{Host, HostError};
use ah_model::Awaited;
use ah_store::{Store, StoreError, block_on};
use tokio::time::timeout;

use crate::host::told;
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

    /// As [`Self::call`] for what this machine does beside the store, too.
    pub(crate) async fn host_call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Host) -> Result<T, HostError> + Send + 'static,
    ) -> Result<T, Failure> {
        let host = self.host();
        self.call(move |_| async move { work(&host).map_err(told) }).await
    }

    /// Waits so long until there may be what is `awaited`; false when the time is over or the server
    /// stops. Waiting does not block and would hold a thread for long, so it is done where it is.
    pub(crate) async fn waited_for(
        &self,
        awaited: Awaited,
        wait: Duration,
    ) -> Result<bool, Failure> {
        let ended = tokio::select! {
            () = self.closing() => return Ok(false),
            ended = timeout(wait, self.store.wait_for(awaited)) => ended,
        };
        match ended {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => Err(self.refused(error)),
            Err(_) => Ok(false),
        }
    }

    fn refused(&self, error: StoreError) -> Failure {
        self.metrics.store_error(&error);
        error.into()
    }
}
