//! SQLite's errors by what the caller can do.

use std::path::Path;
use std::time::Duration;

use ah_store::StoreError;
use rusqlite::{ErrorCode, ffi};

const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The error of `operation` on the database at `path`.
pub(crate) fn map(error: rusqlite::Error, path: &Path, operation: &str) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Busy { retry_after: RETRY_AFTER }
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            // In words only: the source beneath says the same again with a number.
            StoreError::corrupt(format!("database {}", path.display()), error.to_string())
        }
        _ => {
            let operation = format!("{operation} database {}", path.display());
            if extended_code(&error) == Some(ffi::SQLITE_IOERR_SHMSIZE) {
                // All that SQLite says of a full disk when a first process opens the database.
                let reason = "the disk is full: there is no room for its -shm file";
                return StoreError::backend(operation, reason);
            }
            StoreError::backend(operation, error)
        }
    }
}

fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|error| error.extended_code)
}
