//! Notices the commits of other processes.
//!
//! One thread asks SQLite for its data version, whenever a commit rang the [`super::bell`], while
//! anybody waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ah_store::StoreError;
use rusqlite::Connection;
use tokio::sync::watch;

use super::bell::{Bell, Listener};
use super::pool::Pool;
use crate::hub::Hub;

/// Whether the thread runs.
#[derive(Default)]
pub(crate) struct Poll(Mutex<bool>);

impl Poll {
    /// A subscription that other processes' commits wake too. The thread ends by itself once
    /// nobody waits; both look at the lock, so no subscriber is left without it.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        pool: &Arc<Pool>,
        hub: &Hub,
        bell: &Bell,
    ) -> Result<watch::Receiver<u64>, StoreError> {
        let mut running = self.running();
        let changes = hub.subscribe();
        if !*running {
            let (poll, pool, hub) = (Arc::clone(self), Arc::clone(pool), hub.clone());
            let listener = Listener::new(bell);
            std::thread::Builder::new()
                .name("ah-poll".into())
                .spawn(move || poll.look(&pool, &hub, &listener))
                .map_err(|error| StoreError::backend("start the polling thread", error))?;
            *running = true;
        }
        Ok(changes)
    }

    fn running(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until nobody waits; a connection that cannot be had is tried for again.
    fn look(&self, pool: &Pool, hub: &Hub, listener: &Listener) {
        while pool.with(|connection| self.look_with(connection, hub, listener)).is_err() {
            hub.wake();
            if self.is_over(hub, listener) {
                return;
            }
        }
    }

    fn look_with(
        &self,
        connection: &Connection,
        hub: &Hub,
        listener: &Listener,
    ) -> Result<(), StoreError> {
        let mut seen = None;
        loop {
            let version = data_version(connection);
            // A database that cannot be read wakes the readers: they report it.
            if version.is_err() || version.as_ref().ok() != seen.as_ref() {
                seen = version.ok();
                hub.wake();
            }
            if self.is_over(hub, listener) {
                return Ok(());
            }
        }
    }

    /// Waits for a commit; then whether nobody is waiting any more, which ends the thread.
    fn is_over(&self, hub: &Hub, listener: &Listener) -> bool {
        listener.wait();
        let mut running = self.running();
        *running = hub.is_watched();
        !*running
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
