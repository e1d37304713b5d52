//! The columns of a row, each taken for what it should be. What is not that is left over and kept.

use ah_model::{RawJson, Timestamp, check_text};

use super::{Cell, TableRow};
use crate::report::Tally;
use crate::unreadable::fingerprint;

/// A value that has no place in what its row becomes; it becomes an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) table: &'static str,
    pub(crate) line: Option<u64>,
    pub(crate) reason: String,
    pub(crate) bytes: Vec<u8>,
    /// The id in its row, and the column.
    id: Vec<u8>,
    column: String,
}

impl Leftover {
    /// The same value of the same row is kept once, wherever the row stands in the file.
    pub(crate) fn key(&self) -> String {
        let bytes = [&self.id[..], self.column.as_bytes(), &self.bytes].join(&0);
        format!("{}-{:016x}", self.table, fingerprint(&bytes))
    }
}

/// Takes the columns of a row.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    table: &'static str,
    /// The column that tells the row from others.
    id: &'static str,
    row: &'a TableRow,
    pub(crate) tally: &'a mut Tally,
    pub(crate) leftovers: Vec<Leftover>,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(
        table: &'static str,
        id: &'static str,
        row: &'a TableRow,
        tally: &'a mut Tally,
    ) -> Self {
        Self { table, id, row, tally, leftovers: Vec::new() }
    }

    pub(crate) fn cell(&self, column: &str) -> &'a Cell {
        self.row.cell(column)
    }

    pub(crate) fn remark(&mut self, what: impl Into<String>) {
        self.tally.remark(self.table, self.row.line(), what);
    }

    /// Keeps the value of a column apart.
    pub(crate) fn leave(&mut self, column: &str, reason: &str) {
        let bytes = self.cell(column).bytes();
        let reason = format!("{column}: {reason}");
        let (table, line, id) = (self.table, self.row.line(), self.cell(self.id).bytes());
        let column = column.to_owned();
        self.leftovers.push(Leftover { table, line, reason, bytes, id, column });
    }

    /// A text of at most so many bytes.
    pub(crate) fn text(&mut self, column: &'static str, bytes_max: usize) -> Option<String> {
        let cell = self.cell(column);
        if cell.is_null() {
            return None;
        }
        let Some(text) = cell.text() else {
            self.leave(column, "is no text");
            return None;
        };
        match check_text(column, text, bytes_max) {
            Ok(()) => Some(text.to_owned()),
            Err(invalid) => {
                self.leave(column, &invalid.reason);
                None
            }
        }
    }

    /// The time that `read` finds in a column.
    pub(crate) fn time(
        &mut self,
        column: &str,
        read: fn(&Cell) -> Option<Timestamp>,
    ) -> Option<Timestamp> {
        let cell = self.cell(column);
        let time = read(cell);
        if time.is_none() && !cell.is_null() {
            self.leave(column, "is no time");
        }
        time
    }

    pub(crate) fn json(&mut self, column: &str) -> Option<RawJson> {
        let cell = self.cell(column);
        if cell.is_null() {
            return None;
        }
        let json = crate::agent::json(&cell.bytes());
        json.map_err(|reason| self.leave(column, &reason)).ok()
    }
}
