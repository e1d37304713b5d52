//! Pages of lists: where they go on from, and the common shape of lists ordered by number.

use ah_model::{Cursor, Invalid, Page, PageRequest};
use ah_store::StoreError;

use crate::SqlStore;
use crate::tx::{Row, query_all};

impl SqlStore {
    /// A page of a list ordered by ascending number. `sql` takes the number to go on from and how
    /// many rows.
    pub(crate) async fn page_by_number<T: Send + 'static>(
        &self,
        sql: &'static str,
        page: PageRequest,
        read: fn(&dyn Row) -> Result<T, StoreError>,
        number: fn(&T) -> i64,
    ) -> Result<Page<T>, StoreError> {
        let after = number_cursor(page.cursor.as_ref())?.unwrap_or(0);
        let limit = page.limit;
        let more = limit.get() as u64 + 1;
        let items =
            self.read(move |tx, _| query_all(tx, sql, &[after.into(), more.into()], read)).await?;
        Ok(Page::from_overfull(items, limit, |item| Cursor::Number(number(item))))
    }
}

/// The number a list ordered by number goes on from.
pub(crate) fn number_cursor(cursor: Option<&Cursor>) -> Result<Option<i64>, StoreError> {
    match cursor {
        None => Ok(None),
        Some(Cursor::Number(number)) => Ok(Some(*number)),
        Some(other) => Err(foreign_cursor(other)),
    }
}

/// The text a list ordered by text goes on from.
pub(crate) fn text_cursor(cursor: Option<&Cursor>) -> Result<Option<&str>, StoreError> {
    match cursor {
        None => Ok(None),
        Some(Cursor::Text(text)) => Ok(Some(text)),
        Some(other) => Err(foreign_cursor(other)),
    }
}

/// The refusal of a cursor that another list returned.
pub(crate) fn foreign_cursor(cursor: &Cursor) -> StoreError {
    Invalid::new("cursor", format!("\"{cursor}\" is not a cursor this list returned")).into()
}
