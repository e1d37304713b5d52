//! How much one step removes: a bounded number of rows, and of bytes, so that no writer waits long.

use ah_model::{Amount, Tally, limits};
use ah_store::StoreError;

use crate::tx::{More, Param, Tx};

/// Content that one step removes before it ends early. Removing a large value means walking all its
/// pages.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

pub(super) struct Budget {
    rows: usize,
    bytes: u64,
    removed: Tally,
    /// Something had to stay because nothing was left to spend.
    short: bool,
}

/// Rows of a table that go.
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    /// What a row weighs.
    pub(super) bytes: &'static str,
    /// Which rows; takes one parameter, `$1`.
    pub(super) which: &'static str,
    /// Which first.
    pub(super) order: &'static str,
}

/// The weight of rows that have no content to speak of.
pub(super) const NO_BYTES: &str = "CAST(0 AS bigint)";

impl Budget {
    pub(super) fn of_a_step() -> Self {
        let (rows, removed) = (limits::REMOVAL_ROWS_MAX, Tally::default());
        Self { rows, bytes: BYTES_MAX, removed, short: false }
    }

    /// What went, and whether there is more.
    pub(super) fn spent(self) -> (Tally, bool) {
        (self.removed, self.short)
    }

    /// Whether everything went so far.
    pub(super) fn is_enough(&self) -> bool {
        !self.short
    }

    /// How many rows may still go.
    pub(super) fn rows_left(&self) -> usize {
        if self.bytes == 0 { 0 } else { self.rows }
    }

    /// Whether one more row of no weight may go; then it is counted.
    pub(super) fn take(&mut self, class: &str) -> bool {
        if self.rows_left() == 0 {
            self.short = true;
            return false;
        }
        self.count(class, Amount { rows: 1, bytes: 0 });
        true
    }

    /// Notes that so much went.
    pub(super) fn count(&mut self, class: &str, amount: Amount) {
        self.rows = self.rows.saturating_sub(usize::try_from(amount.rows).unwrap_or(usize::MAX));
        self.bytes = self.bytes.saturating_sub(amount.bytes);
        self.removed.add(class, amount);
    }

    /// Removes what fits of `part`. Whether all of it is gone.
    pub(super) fn remove(
        &mut self,
        tx: &mut dyn Tx,
        part: &Part,
        of: Param<'_>,
    ) -> Result<bool, StoreError> {
        let (fits, all) = self.fitting(tx, part, of)?;
        let Part { class, table, key, which, order, .. } = *part;
        if fits.rows > 0 {
            let sql = format!(
                "DELETE FROM {table} WHERE {key} IN \
                 (SELECT {key} FROM {table} WHERE {which} ORDER BY {order} LIMIT $2)"
            );
            tx.execute(&sql, &[of, fits.rows.into()])?;
            self.count(class, fits);
        }
        self.short |= !all;
        Ok(all)
    }

    /// How much of `part` may go, and whether that is all of it.
    fn fitting(
        &self,
        tx: &mut dyn Tx,
        part: &Part,
        of: Param<'_>,
    ) -> Result<(Amount, bool), StoreError> {
        let Part { table, bytes, which, order, .. } = *part;
        let sql = format!("SELECT {bytes} FROM {table} WHERE {which} ORDER BY {order} LIMIT $2");
        let most = self.rows_left();
        let (mut fits, mut all) = (Amount::default(), true);
        tx.query(&sql, &[of, (most as u64 + 1).into()], &mut |row| {
            if fits.rows == most as u64 || fits.bytes >= self.bytes {
                all = false;
                return Ok(More::No);
            }
            fits += Amount { rows: 1, bytes: row.uint(0)? };
            Ok(More::Yes)
        })?;
        Ok((fits, all))
    }
}
