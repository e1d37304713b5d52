//! A table with whatever columns it has, read row by row.

use rusqlite::{Row, ToSql};

use super::{Cell, Database, cell, column};
use crate::ImportError;
use crate::unreadable::fingerprint;

/// Rows that are read at once, and their bytes.
const PAGE_ROWS: usize = 1_000;
const PAGE_BYTES: u64 = 8 * 1024 * 1024;

/// A table of a foreign database, as it is.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<String>,
}

/// A row of such a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableRow {
    pub(crate) rowid: i64,
    /// The columns that are filled, by name.
    pub(crate) cells: Vec<(String, Cell)>,
}

impl TableRow {
    /// The value of that column; NULL when the table has none.
    pub(crate) fn cell(&self, name: &str) -> &Cell {
        self.cells.iter().find(|(column, _)| column == name).map_or(&Cell::Null, |(_, cell)| cell)
    }

    /// The number of the row, for people.
    pub(crate) fn line(&self) -> Option<u64> {
        u64::try_from(self.rowid).ok()
    }

    /// Bytes of its values.
    pub(crate) fn bytes(&self) -> u64 {
        self.cells.iter().map(|(_, cell)| cell.bytes().len() as u64).sum()
    }

    /// What its values are known by. A column that was added and is empty changes nothing.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        for (name, cell) in &self.cells {
            let value = cell.bytes();
            bytes.extend_from_slice(format!("{name}:{}:", value.len()).as_bytes());
            bytes.extend_from_slice(&value);
        }
        fingerprint(&bytes)
    }
}

impl Table {
    /// The table `name` of `database`, or nothing when there is none.
    pub(crate) fn find(
        database: &Database,
        name: &'static str,
    ) -> Result<Option<Self>, ImportError> {
        let columns = database.columns(name)?;
        Ok((!columns.is_empty()).then_some(Self { name, columns }))
    }

    /// The columns that are none of `known`.
    pub(crate) fn unknown<'a>(&'a self, known: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.columns.iter().map(String::as_str).filter(|name| !known.contains(name))
    }

    /// The numbers of all rows, in the order they were written.
    pub(crate) fn rowids(&self, database: &Database) -> Result<Vec<i64>, ImportError> {
        let text = format!("SELECT rowid FROM {} ORDER BY rowid", self.name);
        database.collect(&text, &[], |row| row.get(0))
    }

    /// The first of the rows `rowids`, in that order, as many as fit a page: at least one.
    pub(crate) fn page(
        &self,
        database: &Database,
        rowids: &[i64],
    ) -> Result<Vec<TableRow>, ImportError> {
        let (mut page, mut bytes) = (Vec::new(), 0);
        for rowid in rowids.iter().take(PAGE_ROWS) {
            let row = self.row(database, *rowid).map_err(|error| database.foreign(&error))?;
            let Some(row) = row else {
                return Err(database.refuse(format!("row {rowid} of {} is gone", self.name)));
            };
            bytes += row.bytes();
            page.push(row);
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        database.check_unchanged()?;
        Ok(page)
    }

    /// The rows that `condition` holds of, in the order they were written, as many as fit a page.
    pub(crate) fn select(
        &self,
        database: &Database,
        condition: &str,
        bound: &[&dyn ToSql],
    ) -> Result<Vec<TableRow>, ImportError> {
        let text = format!("SELECT {}, rowid FROM {} {condition}", self.quoted(), self.name);
        let read = || {
            let mut statement = database.connection.prepare_cached(&text)?;
            let (mut rows, mut page, mut bytes) = (statement.query(bound)?, Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let rowid = row.get(self.columns.len())?;
                let row = self.read(row, rowid)?;
                bytes += row.bytes();
                page.push(row);
                if page.len() >= PAGE_ROWS || bytes >= PAGE_BYTES {
                    break;
                }
            }
            Ok(page)
        };
        let page = read().map_err(|error: rusqlite::Error| database.foreign(&error))?;
        database.check_unchanged()?;
        Ok(page)
    }

    fn quoted(&self) -> String {
        let quoted = self.columns.iter().map(|name| column(&self.columns, name));
        quoted.collect::<Vec<_>>().join(", ")
    }

    fn row(&self, database: &Database, rowid: i64) -> rusqlite::Result<Option<TableRow>> {
        let text = format!("SELECT {} FROM {} WHERE rowid = ?1", self.quoted(), self.name);
        let mut statement = database.connection.prepare_cached(&text)?;
        let mut rows = statement.query([rowid])?;
        rows.next()?.map(|row| self.read(row, rowid)).transpose()
    }

    fn read(&self, row: &Row<'_>, rowid: i64) -> rusqlite::Result<TableRow> {
        let cells = self.columns.iter().enumerate();
        let cells = cells.map(|(place, name)| Ok((name.clone(), cell(row, place)?)));
        let mut cells = cells.collect::<rusqlite::Result<Vec<_>>>()?;
        cells.retain(|(_, cell)| !cell.is_null());
        Ok(TableRow { rowid, cells })
    }
}
