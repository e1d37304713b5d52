//! What the two engines have in common: a transaction that takes one set of statements.
//!
//! Statements are written once, with `$1`, `$2`, … in the order of their first appearance (SQLite
//! numbers them so). [`Dialect`] holds the few true differences.

use std::borrow::Cow;

use ah_model::Timestamp;
use ah_store::StoreError;

use crate::change::Note;
use crate::lull::Lull;
use crate::names::Names;

/// The engine a statement is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Ends a SELECT whose row the transaction is about to change. SQLite's writers have the whole
    /// database already. Keys never change, so rows that refer to this one may come meanwhile.
    pub(crate) fn for_update(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR NO KEY UPDATE",
        }
    }

    /// Ends a SELECT whose rows must not go before the transaction ends; they may change.
    pub(crate) fn for_keeping(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR KEY SHARE",
        }
    }

    /// Ends a SELECT whose rows must stay as they are until the transaction ends: who changes one is
    /// waited for.
    pub(crate) fn for_standing(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR SHARE",
        }
    }

    /// Ends a SELECT whose row goes, so that nothing may refer to it any more.
    pub(crate) fn for_removal(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE",
        }
    }

    /// Ends a SELECT whose row must stay as it is until the transaction ends; others may read it so.
    pub(crate) fn for_sharing(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR SHARE",
        }
    }

    /// Ends a SELECT that passes by what another transaction is about to change.
    pub(crate) fn unless_taken(self) -> &'static str {
        match self {
            Self::Sqlite => "",
            Self::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// Whether `column` contains the text `parameter`, in any ASCII case.
    pub(crate) fn contains(self, column: &str, parameter: &str) -> String {
        match self {
            Self::Sqlite => format!("instr(lower({column}), {parameter}) > 0"),
            Self::Postgres => format!("strpos(lower({column} COLLATE \"C\"), {parameter}) > 0"),
        }
    }
}

/// A bound value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Param<'a> {
    Null,
    Int(i64),
    Bool(bool),
    Text(&'a str),
    Time(Timestamp),
}

impl From<i64> for Param<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Param<'_> {
    fn from(value: u64) -> Self {
        // Seqs, epochs and token counts; the model keeps them far below.
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Param<'_> {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}

impl From<Timestamp> for Param<'_> {
    fn from(value: Timestamp) -> Self {
        Self::Time(value)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row of a result, read by column number.
pub(crate) trait Row {
    fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError>;
    fn opt_bool(&self, column: usize) -> Result<Option<bool>, StoreError>;
    /// A text where it lies, if the engine has it at hand.
    fn opt_str(&self, column: usize) -> Result<Option<Cow<'_, str>>, StoreError>;
    fn opt_time(&self, column: usize) -> Result<Option<Timestamp>, StoreError>;
}

impl dyn Row + '_ {
    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| missing(column))
    }

    pub(crate) fn uint(&self, column: usize) -> Result<u64, StoreError> {
        let value = self.int(column)?;
        u64::try_from(value).map_err(|error| StoreError::corrupt(format!("number {value}"), error))
    }

    pub(crate) fn bool(&self, column: usize) -> Result<bool, StoreError> {
        self.opt_bool(column)?.ok_or_else(|| missing(column))
    }

    /// A text that is only looked at.
    pub(crate) fn str(&self, column: usize) -> Result<Cow<'_, str>, StoreError> {
        self.opt_str(column)?.ok_or_else(|| missing(column))
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.str(column).map(Cow::into_owned)
    }

    pub(crate) fn opt_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        Ok(self.opt_str(column)?.map(Cow::into_owned))
    }

    pub(crate) fn time(&self, column: usize) -> Result<Timestamp, StoreError> {
        self.opt_time(column)?.ok_or_else(|| missing(column))
    }

    /// A text column read as one of our types.
    pub(crate) fn parse<T>(&self, column: usize) -> Result<T, StoreError>
    where
        T: std::str::FromStr<Err = ah_model::Invalid>,
    {
        parsed(&self.str(column)?)
    }

    /// As [`Self::parse`] for a column that may be empty.
    pub(crate) fn opt_parse<T>(&self, column: usize) -> Result<Option<T>, StoreError>
    where
        T: std::str::FromStr<Err = ah_model::Invalid>,
    {
        self.opt_str(column)?.map(|text| parsed(&text)).transpose()
    }
}

fn parsed<T>(text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr<Err = ah_model::Invalid>,
{
    text.parse().map_err(|error| StoreError::corrupt(format!("stored value {text:?}"), error))
}

fn missing(column: usize) -> StoreError {
    StoreError::corrupt("stored row", format!("column {column} is empty"))
}

/// The type of a column, for inserts of many rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column {
    Int(&'static str),
    Text(&'static str),
    Time(&'static str),
}

impl Column {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Int(name) | Self::Text(name) | Self::Time(name) => name,
        }
    }
}

/// An open transaction.
pub(crate) trait Tx {
    fn dialect(&self) -> Dialect;

    /// What the transaction knows about when something is due next, if it can outlive one write.
    fn lull(&mut self) -> Option<&mut Lull> {
        None
    }

    /// The agents that are known from writes before, if this is a write that may know.
    fn names(&mut self) -> Option<&mut Names> {
        None
    }

    /// Notes for the feed that are written together at the end, if the transaction is one that can
    /// outlive one write.
    fn notes(&mut self) -> Option<&mut Vec<Note>> {
        None
    }

    /// Runs a statement and returns how many rows it changed.
    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError>;

    /// Hands every row of a result to `each`, until it says no more.
    fn query(
        &mut self,
        sql: &str,
        params: &[Param<'_>],
        each: &mut dyn FnMut(&dyn Row) -> Result<More, StoreError>,
    ) -> Result<(), StoreError>;

    /// Inserts one row of a table whose rows are counted by `number`, and returns that. `sql` says
    /// nothing of what is returned: SQLite tells it of itself, and makes a table in memory for every
    /// RETURNING, which costs more than a row does.
    fn insert_numbered(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError>;

    /// Inserts many rows in as few round trips as the engine allows.
    fn insert_rows(
        &mut self,
        table: &'static str,
        columns: &'static [Column],
        rows: &mut dyn Iterator<Item = Vec<Param<'_>>>,
    ) -> Result<(), StoreError>;
}

/// Whether a reader wants the next row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Yes,
    No,
}

/// Every row of a result.
pub(crate) fn query_all<T>(
    tx: &mut dyn Tx,
    sql: &str,
    params: &[Param<'_>],
    read: impl Fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = Vec::new();
    tx.query(sql, params, &mut |row| {
        rows.push(read(row)?);
        Ok(More::Yes)
    })?;
    Ok(rows)
}

/// The first row of a result, if there is one.
pub(crate) fn query_first<T>(
    tx: &mut dyn Tx,
    sql: &str,
    params: &[Param<'_>],
    read: impl Fn(&dyn Row) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut first = None;
    tx.query(sql, params, &mut |row| {
        first = Some(read(row)?);
        Ok(More::No)
    })?;
    Ok(first)
}

/// Whether the first appearances of `$1`, `$2`, … are in order, as SQLite needs.
pub(crate) fn parameters_in_order(sql: &str) -> bool {
    let mut highest = 0;
    for part in sql.split('$').skip(1) {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        match part[..digits].parse::<usize>() {
            Ok(number) if number == highest + 1 => highest = number,
            Ok(number) if number <= highest => {}
            _ => return false,
        }
    }
    true
}
