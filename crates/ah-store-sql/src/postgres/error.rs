//! PostgreSQL's errors by what the caller can do.

use std::time::Duration;

use ah_store::StoreError;
use postgres::Error;
use postgres::error::SqlState;

const RETRY_AFTER: Duration = Duration::from_millis(500);

/// The error of `operation`.
pub(crate) fn map(error: Error, operation: &str) -> StoreError {
    let busy = [
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    match error.code() {
        Some(code) if busy.contains(code) => StoreError::Busy { retry_after: RETRY_AFTER },
        Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            StoreError::corrupt("the PostgreSQL database", error)
        }
        _ => StoreError::backend(format!("{operation} the PostgreSQL database"), error),
    }
}

/// Whether the same work may succeed when it is done again: it lost a race with another writer.
pub(crate) fn is_lost_race(error: &Error) -> bool {
    let races = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        SqlState::FOREIGN_KEY_VIOLATION,
    ];
    error.code().is_some_and(|code| races.contains(code))
}
