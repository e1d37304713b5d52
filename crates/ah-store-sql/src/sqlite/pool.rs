//! The connections of a process: opened when needed, kept open, one user at a time each.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use ah_store::StoreError;
use rusqlite::Connection;

use super::open::{Missing, open};

/// Most connections of one process; readers beyond wait for one.
const CONNECTIONS_MAX: usize = 8;

pub(crate) struct Pool {
    pub(super) path: PathBuf,
    pub(super) busy_timeout: Duration,
    state: Mutex<State>,
    returned: Condvar,
}

struct State {
    idle: Vec<Connection>,
    open: usize,
}

impl Pool {
    /// A pool that begins with `first`, already opened and migrated.
    pub(crate) fn new(path: PathBuf, busy_timeout: Duration, first: Connection) -> Self {
        let state = State { idle: vec![first], open: 1 };
        Self { path, busy_timeout, state: Mutex::new(state), returned: Condvar::new() }
    }

    /// Lends a connection to `work`.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let lease = Lease { pool: self, connection: Some(self.take()?) };
        match &lease.connection {
            Some(connection) => work(connection),
            None => Err(StoreError::backend("use a connection", "it was returned already")),
        }
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            if state.open < CONNECTIONS_MAX {
                state.open += 1;
                break;
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        open(&self.path, Missing::Refuse, self.busy_timeout).inspect_err(|_| {
            self.state.lock().unwrap_or_else(PoisonError::into_inner).open -= 1;
            self.returned.notify_one();
        })
    }
}

/// Gives its connection back when dropped, also by a panic.
struct Lease<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.connection.take() {
            // A transaction left open by a panic must not be seen by the next user.
            Some(connection)
                if connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok() =>
            {
                state.idle.push(connection);
            }
            _ => state.open -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}
