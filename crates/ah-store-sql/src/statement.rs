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

    /// One more condition: one of two expressions has a bound value; each may be found by its index.
    pub(crate) fn either(&mut self, [one, other]: [&str; 2], value: impl Into<Param<'a>> + Copy) {
        self.push(" AND (").push(one).push(" = ").param(value);
        self.push(" OR ").push(other).push(" = ").param(value).push(")");
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

    /// As [`Self::any_of`] for words of ours, which stand in the statement itself: only then does an
    /// index of the rows with one of them serve.
    pub(crate) fn one_of_ours(&mut self, column: &str, mut words: Vec<&'static str>) {
        words.dedup();
        match words.as_slice() {
            [] => {}
            [word] => drop(self.push(&format!(" AND {column} = '{word}'"))),
            words => drop(self.push(&format!(" AND {column} IN ('{}')", words.join("', '")))),
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

/// `$first, …` for a power of two of values, so that few different statements are prepared.
pub(crate) fn marks(first: usize, count: usize) -> String {
    let marks: Vec<_> =
        (first..first + count.next_power_of_two()).map(|number| format!("${number}")).collect();
    marks.join(", ")
}

/// `head` and the values, the last of them repeated to a power of two.
pub(crate) fn padded<'a>(
    head: impl IntoIterator<Item = Param<'a>>,
    values: impl Iterator<Item = Param<'a>>,
) -> Vec<Param<'a>> {
    let mut params: Vec<_> = head.into_iter().collect();
    let first = params.len();
    params.extend(values);
    if let Some(last) = params[first..].last().copied() {
        let count = (params.len() - first).next_power_of_two();
        params.resize(first + count, last);
    }
    params
}
