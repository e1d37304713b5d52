//! Pages of lists: where they go on from, and the common shape of lists ordered by number.

use ah_model::{Cursor, Invalid, Page, PageLimit, PageRequest, limits};
use ah_store::StoreError;

use crate::SqlStore;
use crate::tx::{Row, Tx, query_all};

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

/// Ids of `table` that begin with a prefix, at most two: a range in byte order, which an index
/// serves.
pub(crate) fn ids_with_prefix<T>(
    tx: &mut dyn Tx,
    table: &str,
    prefix: &str,
) -> Result<Vec<T>, StoreError>
where
    T: std::str::FromStr<Err = Invalid>,
{
    let sql = format!("SELECT id FROM {table} WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2");
    // Ids are ASCII, so this character sorts after all of theirs.
    let end = format!("{prefix}\u{7f}");
    query_all(tx, &sql, &[prefix.into(), (&end).into()], |row| row.parse(0))
}

/// Rows that the first statement of a page reads. PostgreSQL sends all rows of a statement, and one
/// may be megabytes: further statements read as many as the size of the rows before allows.
const ROWS_AT_FIRST: usize = 64;

/// A page of items whose size is not known beforehand: it ends early rather than hold more than
/// [`limits::PAGE_BYTES_MAX`]. `read` gives so many items behind one, or from the start.
pub(crate) fn sized_page<T>(
    limit: PageLimit,
    mut read: impl FnMut(Option<&T>, usize) -> Result<Vec<T>, StoreError>,
    size: impl Fn(&T) -> usize,
    cursor: impl Fn(&T) -> Cursor,
) -> Result<Page<T>, StoreError> {
    let (mut items, mut bytes): (Vec<T>, usize) = (Vec::new(), 0);
    let mut rows = ROWS_AT_FIRST;
    loop {
        // One more than fits says that there is a next page.
        let wanted = rows.min(limit.get() + 1 - items.len());
        let found = read(items.last(), wanted)?;
        let ended = found.len() < wanted;
        for item in found {
            if items.len() == limit.get() || bytes > limits::PAGE_BYTES_MAX {
                return Ok(Page { next_cursor: items.last().map(cursor), items });
            }
            bytes += size(&item);
            items.push(item);
        }
        if ended {
            return Ok(Page { items, next_cursor: None });
        }
        let each = (bytes / items.len().max(1)).max(1);
        rows = (limits::PAGE_BYTES_MAX / each).clamp(1, limit.get() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages through numbers up to 1,000, each of `size` bytes, and notes the rows of every read.
    fn walk(limit: u32, size: usize) -> (Vec<usize>, Vec<i64>, usize) {
        let (mut pages, mut seen, mut most_rows) = (Vec::new(), Vec::new(), 0);
        let mut from = 0;
        loop {
            let read = |last: Option<&i64>, rows: usize| {
                most_rows = most_rows.max(rows);
                let after = last.copied().unwrap_or(from);
                Ok((after + 1..=1_000).take(rows).collect())
            };
            let limit = PageLimit::new(limit).unwrap();
            let page = sized_page(limit, read, |_| size, |number| Cursor::Number(*number)).unwrap();
            pages.push(page.items.len());
            seen.extend(page.items);
            match page.next_cursor {
                Some(Cursor::Number(last)) => from = last,
                _ => return (pages, seen, most_rows),
            }
        }
    }

    #[test]
    fn pages_end_by_count_or_by_size_and_miss_nothing() {
        let all: Vec<i64> = (1..=1_000).collect();
        let mib = 1024 * 1024;
        for (limit, size) in [(1, 1), (50, 1), (1_000, 1), (999, mib), (1_000, 40 * mib)] {
            let (pages, seen, most_rows) = walk(limit, size);
            assert_eq!(seen, all, "{limit} of {size}");
            let bytes = pages.iter().map(|items| items * size).max().unwrap_or(0);
            assert!(bytes <= limits::PAGE_BYTES_MAX + size, "{bytes} of {size}");
            // What is read at once and thrown away is bounded as well.
            assert!(most_rows <= ROWS_AT_FIRST || most_rows * size <= 2 * limits::PAGE_BYTES_MAX);
        }
    }
}
