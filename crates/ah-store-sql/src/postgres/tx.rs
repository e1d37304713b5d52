//! One transaction on one PostgreSQL connection.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;

use ah_model::Timestamp;
use ah_store::StoreError;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Statement, Transaction};

use super::error;
use crate::tx::{Column, Dialect, More, Param, Row, Tx, query_first};

/// Milliseconds from the Unix epoch to PostgreSQL's, 2000-01-01.
const EPOCH_MS: i64 = 946_684_800_000;

/// Most statements kept prepared per connection; filters make many different ones.
const STATEMENTS_MAX: usize = 512;

pub(crate) type Statements = HashMap<String, Statement>;

pub(crate) struct PostgresTx<'a, 'c> {
    pub(super) transaction: &'a mut Transaction<'c>,
    pub(super) statements: &'a mut Statements,
    /// Set when the engine says that the work lost a race and may be done again.
    pub(super) lost_race: bool,
}

impl PostgresTx<'_, '_> {
    fn prepare(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if self.statements.len() >= STATEMENTS_MAX {
            self.statements.clear();
        }
        let statement = self.transaction.prepare(sql).map_err(|error| self.map(error))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn map(&mut self, error: postgres::Error) -> StoreError {
        self.lost_race |= error::is_lost_race(&error);
        error::map(error, "use")
    }
}

fn bound<'a>(params: &'a [Param<'_>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

impl Tx for PostgresTx<'_, '_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let statement = self.prepare(sql)?;
        self.transaction.execute(&statement, &bound(params)).map_err(|error| self.map(error))
    }

    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<More, StoreError>,
    ) -> Result<(), StoreError> {
        let statement = self.prepare(sql)?;
        let read = read_rows(self.transaction, &statement, params, each);
        read.map_err(|error| match error {
            Stopped::ByEngine(error) => self.map(error),
            Stopped::ByReader(error) => error,
        })
    }

    fn insert_numbered(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        let sql = format!("{sql} RETURNING number");
        let number = query_first(self, &sql, params, |row| row.uint(0))?;
        number.ok_or_else(|| StoreError::backend("insert a row", "it got no number"))
    }

    fn insert_rows(
        &mut self,
        table: &'static str,
        columns: &'static [Column],
        rows: &mut dyn Iterator<Item = Vec<Param<'_>>>,
    ) -> Result<(), StoreError> {
        let mut arrays: Vec<Array> = columns.iter().map(|column| Array::new(*column)).collect();
        for row in rows {
            arrays.iter_mut().zip(row).for_each(|(array, value)| array.push(value));
        }
        let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
        let marks: Vec<_> = arrays.iter().enumerate().map(|(at, array)| array.mark(at)).collect();
        let (names, marks) = (names.join(", "), marks.join(", "));
        let statement =
            self.prepare(&format!("INSERT INTO {table} ({names}) SELECT * FROM unnest({marks})"))?;
        let params: Vec<_> = arrays.iter().map(Array::as_param).collect();
        let inserted = self.transaction.execute(&statement, &params);
        inserted.map(drop).map_err(|error| self.map(error))
    }
}

/// Why a result was not read to its end.
enum Stopped {
    ByEngine(postgres::Error),
    ByReader(StoreError),
}

fn read_rows(
    transaction: &mut Transaction<'_>,
    statement: &Statement,
    params: &[Param<'_>],
    each: &mut dyn FnMut(&dyn Row) -> Result<More, StoreError>,
) -> Result<(), Stopped> {
    let mut rows = transaction.query_raw(statement, bound(params)).map_err(Stopped::ByEngine)?;
    while let Some(row) = rows.next().map_err(Stopped::ByEngine)? {
        if each(&PostgresRow(row)).map_err(Stopped::ByReader)? == More::No {
            break;
        }
    }
    Ok(())
}

/// A column of many rows.
enum Array {
    Int(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
    Time(Vec<Option<PostgresTime>>),
}

impl Array {
    fn new(column: Column) -> Self {
        match column {
            Column::Int(_) => Self::Int(Vec::new()),
            Column::Text(_) => Self::Text(Vec::new()),
            Column::Time(_) => Self::Time(Vec::new()),
        }
    }

    fn push(&mut self, value: Param<'_>) {
        match (self, value) {
            (Self::Int(values), Param::Int(value)) => values.push(Some(value)),
            (Self::Int(values), _) => values.push(None),
            (Self::Text(values), Param::Text(value)) => values.push(Some(value.to_owned())),
            (Self::Text(values), _) => values.push(None),
            (Self::Time(values), Param::Time(value)) => values.push(Some(PostgresTime(value))),
            (Self::Time(values), _) => values.push(None),
        }
    }

    fn mark(&self, at: usize) -> String {
        let number = at + 1;
        match self {
            Self::Int(_) => format!("${number}::bigint[]"),
            Self::Text(_) => format!("${number}::text[]"),
            Self::Time(_) => format!("${number}::timestamptz[]"),
        }
    }

    fn as_param(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Int(values) => values,
            Self::Text(values) => values,
            Self::Time(values) => values,
        }
    }
}

/// Our time in PostgreSQL's binary form: microseconds since 2000.
#[derive(Debug, Clone, Copy)]
pub(super) struct PostgresTime(pub(super) Timestamp);

impl ToSql for PostgresTime {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        ((self.0.unix_ms() - EPOCH_MS) * 1_000).to_sql(ty, out)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for PostgresTime {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_sql(ty, raw)?;
        Ok(Self(Timestamp::from_unix_ms(micros.div_euclid(1_000).saturating_add(EPOCH_MS))))
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::TIMESTAMPTZ
    }
}

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            // No stored text has a NUL byte: such a value equals nothing, as NULL does. What is
            // written was checked before.
            Self::Text(value) if value.as_bytes().contains(&0) => Ok(IsNull::Yes),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Bool(value) => value.to_sql(ty, out),
            Self::Text(value) => {
                if *ty == Type::JSONB {
                    // The version of jsonb's binary form.
                    out.extend_from_slice(&[1]);
                }
                out.extend_from_slice(value.as_bytes());
                Ok(IsNull::No)
            }
            Self::Time(value) => PostgresTime(*value).to_sql(ty, out),
        }
    }

    fn accepts(ty: &Type) -> bool {
        let types = [Type::INT8, Type::BOOL, Type::TEXT, Type::JSONB, Type::TIMESTAMPTZ];
        types.contains(ty)
    }

    to_sql_checked!();
}

/// Text of a text or JSON column.
struct AnyText(String);

impl<'a> FromSql<'a> for AnyText {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let bytes = if *ty == Type::JSONB { raw.get(1..).unwrap_or_default() } else { raw };
        Ok(Self(std::str::from_utf8(bytes)?.to_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        [Type::TEXT, Type::VARCHAR, Type::JSONB, Type::JSON].contains(ty)
    }
}

struct PostgresRow(postgres::Row);

impl PostgresRow {
    fn get<'a, T: FromSql<'a>>(&'a self, column: usize) -> Result<Option<T>, StoreError> {
        self.0.try_get(column).map_err(|error| StoreError::corrupt("stored row", error))
    }
}

impl Row for PostgresRow {
    fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        self.get(column)
    }

    fn opt_bool(&self, column: usize) -> Result<Option<bool>, StoreError> {
        self.get(column)
    }

    fn opt_str(&self, column: usize) -> Result<Option<Cow<'_, str>>, StoreError> {
        Ok(self.get::<AnyText>(column)?.map(|text| text.0.into()))
    }

    fn opt_time(&self, column: usize) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.get::<PostgresTime>(column)?.map(|time| time.0))
    }
}
