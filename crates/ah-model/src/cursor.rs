//! Where a page ended, as an opaque text that the caller only hands back.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Invalid, Timestamp, from_hex, to_hex};

/// The position after the last item of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Cursor {
    /// Lists ordered by last activity, newest first.
    Activity {
        /// Last activity of the last item.
        at: Timestamp,
        /// Id of the last item.
        id: String,
    },
    /// Lists ordered by an integer key.
    Number(i64),
    /// Lists ordered by a text key.
    Text(String),
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = match self {
            Self::Activity { at, id } => format!("a{}:{id}", at.unix_ms()),
            Self::Number(number) => format!("n{number}"),
            Self::Text(text) => format!("t{text}"),
        };
        f.write_str(&to_hex(plain.as_bytes()))
    }
}

impl FromStr for Cursor {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse(text).ok_or_else(|| {
            Invalid::new("cursor", format!("{text:?} is not a cursor this list returned"))
        })
    }
}

fn parse(text: &str) -> Option<Cursor> {
    let plain = String::from_utf8(from_hex(text)?).ok()?;
    if let Some(rest) = plain.strip_prefix('a') {
        let (ms, id) = rest.split_once(':')?;
        let at = Timestamp::from_unix_ms(ms.parse().ok()?);
        return Some(Cursor::Activity { at, id: id.to_owned() });
    }
    if let Some(rest) = plain.strip_prefix('n') {
        return rest.parse().ok().map(Cursor::Number);
    }
    plain.strip_prefix('t').map(|rest| Cursor::Text(rest.to_owned()))
}

impl TryFrom<String> for Cursor {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused_and_cursors_read_back(text in ".*", n: i64, ms: i64) {
            let _ = text.parse::<Cursor>();
            let at = Timestamp::from_unix_ms(ms);
            for cursor in [
                Cursor::Number(n),
                Cursor::Text(text.clone()),
                Cursor::Activity { at, id: text },
            ] {
                prop_assert_eq!(cursor.to_string().parse::<Cursor>(), Ok(cursor));
            }
        }
    }
}
