//! SQL text stands in one room, because two engines share it.

use crate::rust_source::{Source, is_word};
use crate::tree::{self, assert_none};

/// The importer may read foreign database files; the host keeps live events in a file of each agent,
/// which is no part of any store.
const SQL_ROOMS: [&str; 3] = ["crates/ah-store-sql", "crates/ah-import", "crates/ah-hive"];

/// Words that in this order make a statement.
const STATEMENTS: [&[&str]; 5] = [
    &["SELECT", "FROM"],
    &["INSERT INTO"],
    &["UPDATE", "SET"],
    &["DELETE FROM"],
    &["CREATE TABLE"],
];

#[test]
fn sql_stands_only_in_the_rooms_for_it() {
    let mut offenders = Vec::new();
    for member in tree::members().iter().filter(|member| !SQL_ROOMS.contains(&member.as_str())) {
        for path in tree::rust_files(&format!("{member}/src")) {
            let literals = Source::parse(&tree::read(&path)).literals.into_iter();
            let sql = literals.filter(|literal| is_sql(&literal.text));
            offenders.extend(sql.map(|literal| format!("{path}:{}", literal.line)));
        }
    }
    assert_none("move the statement to ah-store-sql", &offenders);
}

#[test]
fn statements_are_recognised_in_upper_case() {
    for text in
        ["SELECT 1 FROM a", "INSERT\n  INTO a", "WITH x AS (DELETE FROM a)", "UPDATE a SET b"]
    {
        assert!(is_sql(text), "{text}");
    }
    for text in ["select a session from the list", "UPDATED to SET", "FROM x SELECT y", "UPDATE"] {
        assert!(!is_sql(text), "{text}");
    }
}

fn is_sql(text: &str) -> bool {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    STATEMENTS.iter().any(|words| {
        let after = words.iter().try_fold(text.as_str(), |rest, word| after_word(rest, word));
        after.is_some()
    })
}

/// What follows the first whole `word`.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.match_indices(word).find_map(|(at, _)| {
        let after = &text[at + word.len()..];
        let whole = !text[..at].ends_with(is_word) && !after.starts_with(is_word);
        whole.then_some(after)
    })
}
