//! The columns of a row, each taken for what it should be. What is not that is left over and kept.

use ah_model::{RawJson, Timestamp, check_text};

use crate::foreign_db::{Cell, TableRow};
use crate::report::Tally;
use crate::unreadable::fingerprint;

/// A value that has no place in a session or run; it becomes an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Leftover {
    pub(super) table: &'static str,
    pub(super) line: Option<u64>,
    pub(super) reason: String,
    pub(super) bytes: Vec<u8>,
    /// The id in its row, and the column.
    id: Vec<u8>,
    column: String,
}

impl Leftover {
    /// The same value of the same row is kept once, wherever the row stands in the file.
    pub(super) fn key(&self) -> String {
        let bytes = [&self.id[..], self.column.as_bytes(), &self.bytes].join(&0);
        format!("{}-{:016x}", self.table, fingerprint(&bytes))
    }
}

/// Takes the columns of a row.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    table: &'static str,
    /// The column that tells the row from others.
    id: &'static str,
    row: &'a TableRow,
    pub(super) tally: &'a mut Tally,
    pub(super) leftovers: Vec<Leftover>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(
        table: &'static str,
        id: &'static str,
        row: &'a TableRow,
        tally: &'a mut Tally,
    ) -> Self {
        Self { table, id, row, tally, leftovers: Vec::new() }
    }

    pub(super) fn cell(&self, column: &str) -> &'a Cell {
        self.row.cell(column)
    }

    pub(super) fn remark(&mut self, what: impl Into<String>) {
        self.tally.remark(self.table, self.row.line(), what);
    }

    /// Keeps the value of a column apart.
    pub(super) fn leave(&mut self, column: &str, reason: &str) {
        let bytes = self.cell(column).bytes();
        let reason = format!("{column}: {reason}");
        let (table, line, id) = (self.table, self.row.line(), self.cell(self.id).bytes());
        let column = column.to_owned();
        self.leftovers.push(Leftover { table, line, reason, bytes, id, column });
    }

    /// A text of at most so many bytes.
    pub(super) fn text(&mut self, column: &'static str, bytes_max: usize) -> Option<String> {
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

    pub(super) fn time(&mut self, column: &str) -> Option<Timestamp> {
        let cell = self.cell(column);
        let time = read_time(cell);
        if time.is_none() && !cell.is_null() {
            self.leave(column, "is no time");
        }
        time
    }

    pub(super) fn json(&mut self, column: &str) -> Option<RawJson> {
        let cell = self.cell(column);
        if cell.is_null() {
            return None;
        }
        let json = crate::agent::json(&cell.bytes());
        json.map_err(|reason| self.leave(column, &reason)).ok()
    }
}

/// The time that a column says; one without an offset is UTC, as its program takes it.
pub(super) fn read_time(cell: &Cell) -> Option<Timestamp> {
    let text = cell.text()?;
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

/// `time` as the program writes it: UTC with microseconds.
pub(super) fn written(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{}000+00:00", text.strip_suffix('Z').unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        let text = |text: &str| Cell::Text(text.as_bytes().to_vec());
        let at: Timestamp = "2026-01-06T10:00:00.123Z".parse().unwrap();
        for time in [
            "2026-01-06T10:00:00.123456+00:00",
            "2026-01-06T11:00:00.123+01:00",
            "2026-01-06T10:00:00.123456",
            "2026-01-06T10:00:00.123Z",
        ] {
            assert_eq!(read_time(&text(time)), Some(at), "{time}");
        }
        for none in [text("not a time"), text(""), text("2026-01-06"), Cell::Integer(1), Cell::Null]
        {
            assert_eq!(read_time(&none), None, "{none:?}");
        }
        assert_eq!(written(at), "2026-01-06T10:00:00.123000+00:00");
    }
}
