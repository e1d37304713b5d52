//! The parts of an address behind `?`. Read strictly: a value that is no text is refused, not
//! repaired, because a repaired key would name another thing.

use std::str::FromStr;

use ah_model::{Query, QueryPairs};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Failure;
use crate::routing::Param;

/// The parts of the query, in order.
pub(crate) struct Pairs(QueryPairs);

impl<S: Send + Sync> FromRequestParts<S> for Pairs {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let query = parts.uri.query().unwrap_or_default();
        let parts = query.split('&').filter(|part| !part.is_empty());
        parts.map(pair).collect::<Result<_, _>>().map(Self)
    }
}

impl Pairs {
    /// What is asked, as the model reads it.
    pub(crate) fn read<T: Query>(&self) -> Result<T, Failure> {
        Ok(T::from_query(&self.0)?)
    }

    /// Refuses a part that nobody here reads: who misspells one would get an answer to another
    /// question.
    pub(crate) fn only(&self, known: impl IntoIterator<Item = Param>) -> Result<(), Failure> {
        let known: Vec<_> = known.into_iter().map(|param| param.name).collect();
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, _)) => {
                let reason = format!("{name:?} is not asked for here, {} are", known.join(", "));
                Err(Failure::invalid("query", reason))
            }
        }
    }

    /// The last value of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of that name, in order.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A value that must be given.
    pub(crate) fn text(&self, name: &'static str) -> Result<String, Failure> {
        let value = self.get(name).map(str::to_owned);
        value.ok_or_else(|| Failure::invalid(name, "is missing in the query"))
    }

    /// A number, if it is given.
    pub(crate) fn number<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Failure> {
        let wrong = |value: &str| format!("{value:?} is not a number it can be");
        let read = |value: &str| value.parse().map_err(|_| Failure::invalid(name, wrong(value)));
        self.get(name).map(read).transpose()
    }
}

fn pair(part: &str) -> Result<(String, String), Failure> {
    let (name, value) = part.split_once('=').unwrap_or((part, ""));
    Ok((decoded(name)?, decoded(value)?))
}

/// Takes `+` and percent-encoding back.
fn decoded(text: &str) -> Result<String, Failure> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (hex, after) = rest.split_at_checked(2).ok_or_else(|| garbled(text))?;
                let digits = std::str::from_utf8(hex).ok().and_then(ah_model::from_hex);
                bytes.extend(digits.ok_or_else(|| garbled(text))?);
                rest = after;
            }
            _ => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| garbled(text))
}

fn garbled(text: &str) -> Failure {
    Failure::invalid("query", format!("{text:?} is not percent-encoded text"))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn text_comes_back_as_it_was_or_is_refused() {
        for (given, text) in [("a+b%20c", "a b c"), ("%C3%bc%00=", "ü\0="), ("", "")] {
            assert_eq!(decoded(given).unwrap(), text);
        }
        for given in ["%", "%4", "%zz", "%ff", "%+1"] {
            assert!(decoded(given).is_err(), "{given}");
        }
    }
}
