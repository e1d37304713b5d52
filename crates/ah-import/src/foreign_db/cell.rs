//! A value of a column, whatever it should have been: SQLite keeps any value in any column.

use ah_model::limits::INDEXED_TEXT_BYTES_MAX;
use ah_model::{RawJson, Timestamp, check_text, to_hex};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::agent::Found;
use crate::raw_object::Moment;
use crate::unreadable::fingerprint;

/// Longest id that is taken as it is, with room for what is put around it.
const ID_BYTES_MAX: usize = INDEXED_TEXT_BYTES_MAX - 64;

/// A value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    /// What should be text; it need not be UTF-8.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Cell {
    pub(crate) fn of(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }

    /// The bytes of the value as text.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Null => Vec::new(),
            Self::Integer(number) => number.to_string().into_bytes(),
            Self::Real(number) => format!("{number:?}").into_bytes(),
            Self::Text(bytes) | Self::Blob(bytes) => bytes.clone(),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        *self == Self::Null
    }

    /// The text, if that is all the value is.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Null | Self::Integer(_) | Self::Real(_) | Self::Blob(_) => None,
        }
    }

    /// What the value is known by: itself where it can be an id.
    pub(crate) fn id(&self) -> Option<String> {
        let fits =
            |text: &&str| !text.trim().is_empty() && check_text("", text, ID_BYTES_MAX).is_ok();
        match self {
            Self::Null => None,
            _ => Some(
                self.text()
                    .filter(fits)
                    .map_or_else(|| format!("#{:016x}", fingerprint(&self.bytes())), str::to_owned),
            ),
        }
    }

    pub(crate) fn moment(&self) -> Moment {
        match self {
            Self::Integer(ms) => {
                let time = Timestamp::from_unix_ms(*ms);
                if time.unix_ms() == *ms { Moment::Exact(time) } else { Moment::Rounded(time) }
            }
            Self::Real(ms) => Moment::of_float(*ms),
            Self::Null | Self::Text(_) | Self::Blob(_) => Moment::Absent,
        }
    }

    /// What is in the column.
    pub(crate) fn found(&self) -> Found {
        match self {
            Self::Null => Found::Nothing("is missing".to_owned()),
            _ => Found::Bytes(self.bytes()),
        }
    }

    /// The value as JSON; what is no text is its hexadecimal digits.
    pub(crate) fn json(&self) -> RawJson {
        let text = match self {
            Self::Null => return RawJson::null(),
            Self::Integer(number) => return json(number),
            Self::Real(number) if number.is_finite() => return json(number),
            Self::Real(number) => number.to_string(),
            Self::Text(bytes) | Self::Blob(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => to_hex(bytes),
            },
        };
        json(&text)
    }
}

fn json<T: serde::Serialize>(value: &T) -> RawJson {
    RawJson::of(value).unwrap_or_else(|_| RawJson::null())
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Owned(Value::Real(*number)),
            Self::Text(bytes) => ToSqlOutput::Borrowed(ValueRef::Text(bytes)),
            Self::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}
