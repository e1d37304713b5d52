//! One transaction on one SQLite connection.

use std::borrow::Cow;
use std::path::Path;

use ah_model::Timestamp;
use ah_store::StoreError;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use super::error;
use crate::change::Note;
use crate::lull::Lull;
use crate::names::Names;
use crate::tx::{Column, Dialect, More, Param, Row, Tx, parameters_in_order};

/// Most statements that a transaction keeps at hand.
const AT_HAND_MAX: usize = 16;

pub(crate) struct SqliteTx<'a> {
    connection: &'a Connection,
    path: &'a Path,
    /// The statements that it has run, with their texts: the jobs of a batch run the same few, and
    /// the connection's cache would be asked, and be given them back, for each.
    at_hand: Vec<(String, CachedStatement<'a>)>,
    lull: Lull,
    names: Option<&'a mut Names>,
    notes: Vec<Note>,
}

impl<'a> SqliteTx<'a> {
    pub(super) fn new(connection: &'a Connection, path: &'a Path) -> Self {
        let (at_hand, lull, notes) = (Vec::new(), Lull::default(), Vec::new());
        Self { connection, path, at_hand, lull, names: None, notes }
    }

    /// One that may write, and so knows what writes before it knew.
    pub(super) fn writing(
        connection: &'a Connection,
        path: &'a Path,
        names: &'a mut Names,
    ) -> Self {
        Self { names: Some(names), ..Self::new(connection, path) }
    }

    pub(super) fn connection(&self) -> &'a Connection {
        self.connection
    }

    /// Runs a statement about the transaction itself: BEGIN, COMMIT, SAVEPOINT.
    pub(super) fn control(&self, sql: &str, purpose: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(sql).and_then(|mut s| s.raw_execute());
        done.map(drop).map_err(|error| error::map(error, self.path, purpose))
    }

    /// The statement of that text, with `params` bound.
    fn bound(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
    ) -> rusqlite::Result<&mut CachedStatement<'a>> {
        let statement = self.prepared(sql)?;
        bind(statement, params)?;
        Ok(statement)
    }

    fn prepared(&mut self, sql: &str) -> rusqlite::Result<&mut CachedStatement<'a>> {
        debug_assert!(parameters_in_order(sql), "parameters out of order in: {sql}");
        let place = match self.at_hand.iter().position(|(text, _)| text == sql) {
            Some(place) => place,
            None => {
                if self.at_hand.len() == AT_HAND_MAX {
                    self.at_hand.clear();
                }
                self.at_hand.push((sql.to_owned(), self.connection.prepare_cached(sql)?));
                self.at_hand.len() - 1
            }
        };
        let at_hand = self.at_hand.get_mut(place);
        at_hand.map(|(_, statement)| statement).ok_or(rusqlite::Error::InvalidQuery)
    }
}

fn bind(statement: &mut CachedStatement<'_>, params: &[Param<'_>]) -> rusqlite::Result<()> {
    let mut all = (1..).zip(params);
    all.try_for_each(|(index, param)| statement.raw_bind_parameter(index, param))
}

impl Tx for SqliteTx<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn lull(&mut self) -> Option<&mut Lull> {
        Some(&mut self.lull)
    }

    fn names(&mut self) -> Option<&mut Names> {
        self.names.as_deref_mut()
    }

    fn notes(&mut self) -> Option<&mut Vec<Note>> {
        self.names.is_some().then_some(&mut self.notes)
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let path = self.path;
        let changed = self.bound(sql, params).and_then(|statement| statement.raw_execute());
        Ok(changed.map_err(|error| map(error, path))? as u64)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<More, StoreError>,
    ) -> Result<(), StoreError> {
        let path = self.path;
        let statement = self.bound(sql, params).map_err(|error| map(error, path))?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| map(error, path))? {
            if each(&SqliteRow(row))? == More::No {
                break;
            }
        }
        Ok(())
    }

    fn insert_numbered(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.execute(sql, params)?;
        Ok(self.connection.last_insert_rowid().unsigned_abs())
    }

    fn insert_rows(
        &mut self,
        table: &'static str,
        columns: &'static [Column],
        rows: &mut dyn Iterator<Item = Vec<Param<'_>>>,
    ) -> Result<(), StoreError> {
        let path = self.path;
        let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
        let marks: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
        let (names, marks) = (names.join(", "), marks.join(", "));
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({marks})");
        let statement = self.prepared(&sql).map_err(|error| map(error, path))?;
        for row in rows {
            let done = bind(statement, &row).and_then(|()| statement.raw_execute());
            done.map_err(|error| map(error, path))?;
        }
        Ok(())
    }
}

fn map(error: rusqlite::Error, path: &Path) -> StoreError {
    error::map(error, path, "use")
}

impl ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Self::Int(value) => ToSqlOutput::Borrowed(ValueRef::Integer(*value)),
            Self::Bool(value) => ToSqlOutput::Borrowed(ValueRef::Integer(i64::from(*value))),
            Self::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Self::Time(value) => ToSqlOutput::from(value.to_string()),
        })
    }
}

struct SqliteRow<'a>(&'a rusqlite::Row<'a>);

impl SqliteRow<'_> {
    fn value(&self, column: usize) -> Result<ValueRef<'_>, StoreError> {
        self.0.get_ref(column).map_err(|error| StoreError::corrupt("stored row", error))
    }
}

impl Row for SqliteRow<'_> {
    /// What another program left in a number's place is no number; a column that needs one says so.
    fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.value(column)? {
            ValueRef::Integer(value) => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    fn opt_bool(&self, column: usize) -> Result<Option<bool>, StoreError> {
        Ok(self.opt_int(column)?.map(|value| value != 0))
    }

    /// Other programs may have written numbers or broken bytes into a text column: they are read,
    /// not refused, because one odd value must not cost the record.
    fn opt_str(&self, column: usize) -> Result<Option<Cow<'_, str>>, StoreError> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            // Sound bytes, which nearly all are, are checked several times faster than mended ones.
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Ok(Some(match str::from_utf8(bytes) {
                    Ok(text) => text.into(),
                    Err(_) => String::from_utf8_lossy(bytes),
                }))
            }
            ValueRef::Integer(value) => Ok(Some(value.to_string().into())),
            ValueRef::Real(value) => Ok(Some(value.to_string().into())),
        }
    }

    fn opt_time(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        match self.opt_str(column)? {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|error| {
                let name = self.0.as_ref().column_name(column).unwrap_or("?");
                StoreError::corrupt(format!("column {name}"), error)
            }),
        }
    }
}
