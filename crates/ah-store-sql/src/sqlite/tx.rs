//! One transaction on one SQLite connection.

use std::path::Path;

use ah_model::Timestamp;
use ah_store::StoreError;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection};

use super::error;
use crate::tx::{Column, Dialect, More, Param, Row, Tx, parameters_in_order};

pub(crate) struct SqliteTx<'a> {
    pub(super) connection: &'a Connection,
    pub(super) path: &'a Path,
}

impl SqliteTx<'_> {
    /// Runs a statement about the transaction itself: BEGIN, COMMIT, SAVEPOINT.
    pub(super) fn control(&self, sql: &str, purpose: &str) -> Result<(), StoreError> {
        let done = self.connection.prepare_cached(sql).and_then(|mut s| s.raw_execute());
        done.map(drop).map_err(|error| error::map(error, self.path, purpose))
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        debug_assert!(parameters_in_order(sql), "parameters out of order in: {sql}");
        self.connection.prepare_cached(sql).map_err(|error| self.map(error))
    }

    fn map(&self, error: rusqlite::Error) -> StoreError {
        error::map(error, self.path, "use")
    }

    fn bind(
        &self,
        statement: &mut CachedStatement<'_>,
        params: &[Param<'_>],
    ) -> Result<(), StoreError> {
        for (index, param) in params.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, param).map_err(|error| self.map(error))?;
        }
        Ok(())
    }
}

impl Tx for SqliteTx<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let mut statement = self.prepare(sql)?;
        self.bind(&mut statement, params)?;
        let changed = statement.raw_execute().map_err(|error| self.map(error))?;
        Ok(changed as u64)
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<More, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(sql)?;
        self.bind(&mut statement, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().map_err(|error| self.map(error))? {
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
        let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
        let marks: Vec<_> = (1..=names.len()).map(|number| format!("${number}")).collect();
        let (names, marks) = (names.join(", "), marks.join(", "));
        let mut statement =
            self.prepare(&format!("INSERT INTO {table} ({names}) VALUES ({marks})"))?;
        for row in rows {
            self.bind(&mut statement, &row)?;
            statement.raw_execute().map_err(|error| self.map(error))?;
        }
        Ok(())
    }
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
    fn opt_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            // Sound bytes, which nearly all are, are checked several times faster than mended ones.
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                Ok(Some(match str::from_utf8(bytes) {
                    Ok(text) => text.to_owned(),
                    Err(_) => String::from_utf8_lossy(bytes).into_owned(),
                }))
            }
            ValueRef::Integer(value) => Ok(Some(value.to_string())),
            ValueRef::Real(value) => Ok(Some(value.to_string())),
        }
    }

    fn opt_time(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        match self.opt_text(column)? {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|error| {
                let name = self.0.as_ref().column_name(column).unwrap_or("?");
                StoreError::corrupt(format!("column {name}"), error)
            }),
        }
    }
}
