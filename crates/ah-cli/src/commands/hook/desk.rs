//! The server's side of a call: what its socket does with one.

use std::sync::Arc;

use ah_import::{HookCall, HookFate, record_hooks};
use ah_server::HookDesk;
use ah_store::Store;

use crate::commands::import::repo_of;

/// Records the calls that hooks hand over.
pub(crate) fn desk() -> HookDesk {
    Arc::new(|store, call| Box::pin(take(store, call)))
}

/// Records one call; the answer says what became of it, once it is durable.
async fn take(store: Arc<dyn Store>, call: Vec<u8>) -> Vec<u8> {
    let fate = match serde_json::from_slice::<HookCall>(&call) {
        Ok(call) => record_hooks(&*store, &[call], &repo_of).await.into_iter().next(),
        Err(error) => Some(HookFate::Refused(error.to_string())),
    };
    // A fate is plain text.
    serde_json::to_vec(&fate).unwrap_or_default()
}
