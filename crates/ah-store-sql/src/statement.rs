//! A statement under construction: only the conditions that are asked for are in it.

use crate::tx::{Dialect, Param};

pub(crate) struct Statement<'a> {
    pub(crate) sql: String,
    pub(crate) params: Vec<Param<'a>>,
    dialect: Dialect,
}

impl<'a> Statement<'a> {
    pub(crate) fn new(start: &str, dialect: Dialect) -> Self {
        Self { sql: start.to_owned(), params: Vec::new(), dialect }
    }

    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.sql.push_str(text);
        self
    }

    /// Binds `value` here.
    pub(crate) fn param(&mut self, value: impl Into<Param<'a>>) -> &mut Self {
        self.params.push(value.into());
        let mark = format!("${}", self.params.len());
        self.push(&mark)
    }

    /// One more condition: `text` and a bound value.
    pub(crate) fn condition(&mut self, text: &str, value: impl Into<Param<'a>>) {
        self.push(" AND ").push(text).param(value);
    }

    /// `column` is one of `words`, when there are any.
    pub(crate) fn any_of(&mut self, column: &str, words: impl Iterator<Item = &'a str>) {
        let mut open = format!(" AND {column} IN (");
        let mut some = false;
        for word in words {
            self.push(&open).param(word);
            open = ", ".to_owned();
            some = true;
        }
        if some {
            self.push(")");
        }
    }

    /// `column` contains `text`, which is in lower case, in any ASCII case.
    pub(crate) fn contains(&mut self, column: &str, text: &'a str) {
        self.params.push(text.into());
        let mark = format!("${}", self.params.len());
        let contains = self.dialect.contains(column, &mark);
        self.push(" AND ").push(&contains);
    }
}
