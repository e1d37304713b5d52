//! Orders to end the idle process of a session that no run executes.
//!
//! A persistent executor stays alive between the turns of a session. Nothing of ours is held then,
//! so such an order is a pair of its own, handed out a few times until the runner says that the
//! process has ended.

use ah_model::limits::KV_KEY_BYTES_MAX;
use ah_model::{ExecutorId, KvEntry, PageLimit, PageRequest, SessionId};
use ah_store::{Store, StoreError};

use super::limits::STOP_ORDERS_MAX;

const SCOPE: &str = "coordinator-stop";

fn key(runner: &ExecutorId, session: &str) -> String {
    format!("{runner} {session}")
}

/// Has `runner` told to end its process of `session`.
pub(super) async fn give(
    store: &dyn Store,
    runner: &ExecutorId,
    session: &SessionId,
) -> Result<(), StoreError> {
    let key = key(runner, session.as_str());
    if key.len() > KV_KEY_BYTES_MAX {
        // No runner of this interface has such an id.
        return Ok(());
    }
    let (scope, value) = (SCOPE.to_owned(), "0".to_owned());
    store.kv_set(KvEntry { scope, key, value }).await
}

/// The sessions whose process `runner` has to end.
pub(super) async fn take(
    store: &dyn Store,
    runner: &ExecutorId,
) -> Result<Vec<SessionId>, StoreError> {
    let mut sessions = Vec::new();
    for entry in of_runner(store, runner).await? {
        let id = entry.key.split_once(' ').and_then(|(_, session)| session.parse().ok());
        sessions.extend(id);
        count(store, entry).await?;
    }
    Ok(sessions)
}

/// Notes that an order was handed out; the last time it is forgotten.
async fn count(store: &dyn Store, entry: KvEntry) -> Result<(), StoreError> {
    let times = entry.value.parse::<u64>().unwrap_or(STOP_ORDERS_MAX) + 1;
    if times < STOP_ORDERS_MAX {
        return store.kv_set(KvEntry { value: times.to_string(), ..entry }).await;
    }
    forget(store, entry.key).await
}

/// The process of `session` has ended.
pub(super) async fn done(
    store: &dyn Store,
    runner: &ExecutorId,
    session: &SessionId,
) -> Result<(), StoreError> {
    forget(store, key(runner, session.as_str())).await
}

/// The runner is gone, and its processes with it.
pub(super) async fn drop_all(store: &dyn Store, runner: &ExecutorId) -> Result<(), StoreError> {
    for entry in of_runner(store, runner).await? {
        forget(store, entry.key).await?;
    }
    Ok(())
}

async fn forget(store: &dyn Store, key: String) -> Result<(), StoreError> {
    match store.kv_delete(SCOPE.to_owned(), key).await {
        Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn of_runner(store: &dyn Store, runner: &ExecutorId) -> Result<Vec<KvEntry>, StoreError> {
    let mut found = Vec::new();
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    let prefix = key(runner, "");
    loop {
        let entries = store.kv_list(SCOPE.to_owned(), page.clone()).await?;
        found.extend(entries.items.into_iter().filter(|entry| entry.key.starts_with(&prefix)));
        page.cursor = entries.next_cursor;
        if page.cursor.is_none() {
            return Ok(found);
        }
    }
}
