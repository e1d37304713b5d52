//! Reads a row's columns from left to right, so a wide row needs no column numbers.

use std::borrow::Cow;
use std::cell::Cell;
use std::str::FromStr;

use ah_model::{Invalid, RawJson, Timestamp};
use ah_store::StoreError;

use crate::tx::Row;

pub(crate) struct Reader<'a> {
    row: &'a dyn Row,
    next: Cell<usize>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(row: &'a dyn Row) -> Self {
        Self { row, next: Cell::new(0) }
    }

    fn column(&self) -> usize {
        self.next.replace(self.next.get() + 1)
    }

    pub(crate) fn int(&self) -> Result<i64, StoreError> {
        self.row.int(self.column())
    }

    pub(crate) fn opt_int(&self) -> Result<Option<i64>, StoreError> {
        self.row.opt_int(self.column())
    }

    pub(crate) fn uint(&self) -> Result<u64, StoreError> {
        self.row.uint(self.column())
    }

    pub(crate) fn bool(&self) -> Result<bool, StoreError> {
        self.row.bool(self.column())
    }

    pub(crate) fn str(&self) -> Result<Cow<'a, str>, StoreError> {
        self.row.str(self.column())
    }

    pub(crate) fn text(&self) -> Result<String, StoreError> {
        self.row.text(self.column())
    }

    pub(crate) fn opt_text(&self) -> Result<Option<String>, StoreError> {
        self.row.opt_text(self.column())
    }

    pub(crate) fn time(&self) -> Result<Timestamp, StoreError> {
        self.row.time(self.column())
    }

    pub(crate) fn opt_time(&self) -> Result<Option<Timestamp>, StoreError> {
        self.row.opt_time(self.column())
    }

    pub(crate) fn parse<T: FromStr<Err = Invalid>>(&self) -> Result<T, StoreError> {
        self.row.parse(self.column())
    }

    pub(crate) fn opt_parse<T: FromStr<Err = Invalid>>(&self) -> Result<Option<T>, StoreError> {
        self.row.opt_parse(self.column())
    }

    pub(crate) fn opt_json(&self) -> Result<Option<RawJson>, StoreError> {
        Ok(self.opt_text()?.map(readable_json))
    }

    pub(crate) fn json(&self) -> Result<RawJson, StoreError> {
        Ok(self.opt_json()?.unwrap_or_else(RawJson::null))
    }
}

/// Stored JSON, or `{"unreadable": text}` for text that another program left there: a damaged
/// payload costs its own reading, not the session's.
fn readable_json(text: String) -> RawJson {
    RawJson::from_stored(text).unwrap_or_else(|text| {
        RawJson::of(&serde_json::json!({ "unreadable": text })).unwrap_or_else(|_| RawJson::null())
    })
}
