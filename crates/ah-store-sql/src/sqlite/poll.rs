//! Notices the commits of other processes.
//!
//! One thread asks SQLite for its data version while anybody waits. A look costs about a
//! microsecond; every 10 ms is found within 10 ms and costs under 1 % of a core. File watching is
//! quicker by a few milliseconds at three times the cost, and not to be had everywhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ah_store::StoreError;
use rusqlite::Connection;
use tokio::sync::watch;

use super::pool::Pool;
use crate::hub::Hub;

const LOOK_AGAIN: Duration = Duration::from_millis(10);

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
    ) -> Result<watch::Receiver<u64>, StoreError> {
        let mut running = self.running();
        let changes = hub.subscribe();
        if !*running {
            let (poll, pool, hub) = (Arc::clone(self), Arc::clone(pool), hub.clone());
            std::thread::Builder::new()
                .name("ah-poll".into())
                .spawn(move || poll.look(&pool, &hub))
                .map_err(|error| StoreError::backend("start the polling thread", error))?;
            *running = true;
        }
        Ok(changes)
    }

    fn running(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks until nobody waits; a connection that cannot be had is tried for again.
    fn look(&self, pool: &Pool, hub: &Hub) {
        while pool.with(|connection| self.look_with(connection, hub)).is_err() {
            hub.wake();
            if self.is_over(hub) {
                return;
            }
        }
    }

    fn look_with(&self, connection: &Connection, hub: &Hub) -> Result<(), StoreError> {
        let mut seen = None;
        loop {
            let version = data_version(connection);
            // A database that cannot be read wakes the readers: they report it.
            if version.is_err() || version.as_ref().ok() != seen.as_ref() {
                seen = version.ok();
                hub.wake();
            }
            if self.is_over(hub) {
                return Ok(());
            }
        }
    }

    /// Waits a little; then whether nobody is waiting any more, which ends the thread.
    fn is_over(&self, hub: &Hub) -> bool {
        std::thread::sleep(LOOK_AGAIN);
        let mut running = self.running();
        *running = hub.is_watched();
        !*running
    }
}

fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}
