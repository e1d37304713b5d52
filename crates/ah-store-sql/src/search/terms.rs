//! What is asked of the index: the words that must be there, and marks of where an event stands.
//!
//! A mark is a word that no text has. It narrows what the index names, so that a search in one
//! session does not walk through all others; it may name too much, never too little.

use ah_model::{SearchQuery, SearchTerm};

use crate::tx::Dialect;

/// What an event can be narrowed by.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark<'a> {
    Session(&'a str),
    Repo(i64),
    Agent(&'a str),
    Type(&'a str),
}

impl Mark<'_> {
    /// A sign that is no letter, what it is of, and a digest of it.
    pub(super) fn word(self) -> String {
        match self {
            Self::Session(id) => format!("§s{:08x}", digest(id)),
            Self::Repo(id) => format!("§r{id:x}"),
            Self::Agent(name) => format!("§a{:08x}", digest(name)),
            Self::Type(name) => format!("§t{:08x}", digest(name)),
        }
    }
}

/// FNV-1a: two texts that have the same only cost a look at an event.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The words of `query` and its marks, as the engine's index is asked for them.
pub(super) fn expression(query: &SearchQuery, dialect: Dialect) -> String {
    let mut all: Vec<String> = query.text.terms().map(|term| quoted(term, dialect)).collect();
    let mut narrow = |mark: Mark<'_>| all.push(marked(mark, dialect));
    query.session_id.iter().for_each(|id| narrow(Mark::Session(id.as_str())));
    query.repo_id.iter().for_each(|id| narrow(Mark::Repo(*id)));
    query.agent.iter().for_each(|name| narrow(Mark::Agent(name)));
    let (and, or) = match dialect {
        Dialect::Sqlite => (" AND ", " OR "),
        Dialect::Postgres => (" & ", " | "),
    };
    if !query.types.is_empty() {
        let types = query.types.iter().map(|name| marked(Mark::Type(name), dialect));
        all.push(format!("({})", types.collect::<Vec<_>>().join(or)));
    }
    all.join(and)
}

fn marked(mark: Mark<'_>, dialect: Dialect) -> String {
    quoted(&SearchTerm { word: mark.word(), prefix: false }, dialect)
}

/// A word holds no quotes: nothing but letters, digits and our own sign.
fn quoted(term: &SearchTerm, dialect: Dialect) -> String {
    match (dialect, term.prefix) {
        (Dialect::Sqlite, false) => format!("\"{}\"", term.word),
        (Dialect::Sqlite, true) => format!("\"{}\"*", term.word),
        (Dialect::Postgres, false) => format!("'{}'", term.word),
        (Dialect::Postgres, true) => format!("'{}':*", term.word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_is_asked_for_the_same() {
        let mut query = SearchQuery::new("a b* -c \"d e\"".parse().unwrap());
        query.repo_id = Some(7);
        query.types = vec!["x".to_owned(), "y".to_owned()];
        let sqlite = expression(&query, Dialect::Sqlite);
        let types = [Mark::Type("x").word(), Mark::Type("y").word()];
        let [x, y] = types;
        assert_eq!(
            sqlite,
            format!("\"a\" AND \"b\"* AND \"d\" AND \"e\" AND \"§r7\" AND (\"{x}\" OR \"{y}\")")
        );
        let postgres = expression(&query, Dialect::Postgres);
        assert_eq!(postgres, format!("'a' & 'b':* & 'd' & 'e' & '§r7' & ('{x}' | '{y}')"));
    }
}
