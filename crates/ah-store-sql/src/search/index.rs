//! The index itself: what each engine does with words and numbers.

use ah_model::{RawJson, SEARCH_RULES};
use ah_store::StoreError;

use crate::scrub::overwriting;
use crate::statement::{marks, padded};
use crate::tx::{Column, Dialect, Tx, query_all, query_first};

/// An event's number and its words.
pub(super) type Entry = (u64, String);

const NAMED_SQLITE: &str = "SELECT rowid FROM search_words \
    WHERE search_words MATCH $1 AND rowid < $2 ORDER BY rowid DESC LIMIT $3";
const NAMED_POSTGRES: &str = "SELECT id FROM search_words \
    WHERE words @@ CAST(CAST($1 AS text) AS tsquery) AND id < $2 ORDER BY id DESC LIMIT $3";

/// The newest numbers before one that the index names for an expression.
pub(super) fn named(
    tx: &mut dyn Tx,
    wanted: &str,
    before: i64,
    rows: usize,
) -> Result<Vec<i64>, StoreError> {
    let sql = match tx.dialect() {
        Dialect::Sqlite => NAMED_SQLITE,
        Dialect::Postgres => NAMED_POSTGRES,
    };
    let params = [wanted.into(), before.into(), (rows as u64).into()];
    query_all(tx, sql, &params, |row| row.int(0))
}

const INSERT_POSTGRES: &str = "INSERT INTO search_words (id, words) \
    SELECT CAST(e->>0 AS bigint), array_to_tsvector(string_to_array(e->>1, ' ')) \
    FROM jsonb_array_elements($1) e ON CONFLICT DO NOTHING";

/// Adds events.
pub(super) fn insert(tx: &mut dyn Tx, entries: &[Entry]) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        let entries = RawJson::of(&entries)?;
        return tx.execute(INSERT_POSTGRES, &[entries.as_str().into()]).map(drop);
    }
    let columns: &[Column] = &[Column::Int("rowid"), Column::Text("words")];
    let mut rows = entries.iter().map(|(number, words)| vec![(*number).into(), words.into()]);
    tx.insert_rows("search_words", columns, &mut rows)
}

const GONE: &str = "SELECT id FROM search_gone WHERE id <= $1 ORDER BY id LIMIT $2";

/// Takes out events that are gone, at most `rows`, and says how many.
pub(super) fn remove_gone(tx: &mut dyn Tx, position: u64, rows: u64) -> Result<u64, StoreError> {
    let gone = query_all(tx, GONE, &[position.into(), rows.into()], |row| row.uint(0))?;
    remove(tx, &gone)?;
    for numbers in gone.chunks(AT_ONCE) {
        let marks = marks(1, numbers.len());
        let params = padded([], numbers.iter().map(|number| (*number).into()));
        tx.execute(&format!("DELETE FROM search_gone WHERE id IN ({marks})"), &params)?;
    }
    Ok(gone.len() as u64)
}

const AT_ONCE: usize = 128;

/// Takes events out.
pub(super) fn remove(tx: &mut dyn Tx, numbers: &[u64]) -> Result<(), StoreError> {
    let key = tx.dialect().index_key();
    for numbers in numbers.chunks(AT_ONCE) {
        let marks = marks(1, numbers.len());
        let params = padded([], numbers.iter().map(|number| (*number).into()));
        tx.execute(&format!("DELETE FROM search_words WHERE {key} IN ({marks})"), &params)?;
    }
    Ok(())
}

/// Where the index stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) position: u64,
    pub(super) rules: u64,
    pub(super) merging: u64,
}

const STATE: &str = "SELECT position, rules, merging FROM search_index";

pub(super) fn state(tx: &mut dyn Tx) -> Result<State, StoreError> {
    let read = query_first(tx, STATE, &[], |row| {
        Ok(State { position: row.uint(0)?, rules: row.uint(1)?, merging: row.uint(2)? })
    })?;
    read.ok_or_else(|| StoreError::corrupt("search index", "it does not say where it stands"))
}

const MOVE: &str = "UPDATE search_index SET position = $1 \
    WHERE position = $2 AND rules = $3 AND merging = $4";

/// Moves on, unless somebody else has done so meanwhile.
pub(super) fn move_on(tx: &mut dyn Tx, from: &State, to: u64) -> Result<bool, StoreError> {
    let params = [to.into(), from.position.into(), SEARCH_RULES.into(), from.merging.into()];
    Ok(tx.execute(MOVE, &params)? > 0)
}

const EMPTY_SQLITE: &str = "INSERT INTO search_words (search_words) VALUES ('delete-all')";
const EMPTY_POSTGRES: &str = "TRUNCATE search_words";
const BEGIN: &str = "UPDATE search_index SET position = 0, rules = $1, merging = 0";

/// Empties the index.
pub(super) fn clear(tx: &mut dyn Tx) -> Result<(), StoreError> {
    // First, so that of several who do so one waits for the other.
    tx.execute(BEGIN, &[SEARCH_RULES.into()])?;
    let empty = match tx.dialect() {
        Dialect::Sqlite => EMPTY_SQLITE,
        Dialect::Postgres => EMPTY_POSTGRES,
    };
    tx.execute(empty, &[]).map(drop)
}

/// FTS5 only notes that a row is gone; its words leave the file when the part that holds them is
/// written anew. So many pages are written in a step: a few milliseconds' work.
const MERGE_BEGIN: &str = "INSERT INTO search_words (search_words, rank) VALUES ('merge', -64)";
const MERGE_ON: &str = "INSERT INTO search_words (search_words, rank) VALUES ('merge', 64)";
const CHANGES: &str = "SELECT total_changes()";
const SET_MERGING: &str = "UPDATE search_index SET merging = $1";

pub(super) const TO_BEGIN: u64 = 1;
const UNDER_WAY: u64 = 2;
/// From here on a number that rises with every scrub of events, and says to begin as well.
const SCRUBBED: u64 = 3;
const NOTE_SCRUB: &str = "UPDATE search_index SET merging = \
    CASE WHEN merging < $1 THEN $1 ELSE merging + 1 END";

/// Notes that events were changed, on both engines.
pub(super) fn note_scrub(tx: &mut dyn Tx) -> Result<(), StoreError> {
    tx.execute(NOTE_SCRUB, &[SCRUBBED.into()]).map(drop)
}

pub(super) fn set_merging(tx: &mut dyn Tx, merging: u64) -> Result<(), StoreError> {
    // PostgreSQL gives the room of rows that are gone away by itself.
    if tx.dialect() == Dialect::Postgres {
        return Ok(());
    }
    tx.execute(SET_MERGING, &[merging.into()]).map(drop)
}

/// Writes out some of what is gone.
pub(super) fn merge(tx: &mut dyn Tx, merging: u64) -> Result<(), StoreError> {
    if tx.dialect() == Dialect::Postgres {
        return tx.execute(SET_MERGING, &[0_u64.into()]).map(drop);
    }
    overwriting(tx, |tx| merge_some(tx, merging))
}

fn merge_some(tx: &mut dyn Tx, merging: u64) -> Result<(), StoreError> {
    let changes = |tx: &mut dyn Tx| query_first(tx, CHANGES, &[], |row| row.int(0));
    let before = changes(tx)?;
    if merging == TO_BEGIN || merging >= SCRUBBED {
        tx.execute(MERGE_BEGIN, &[])?;
        return set_merging(tx, UNDER_WAY);
    }
    tx.execute(MERGE_ON, &[])?;
    // The statement itself counts as one: less than two means that nothing was left to do.
    let done = changes(tx)?.zip(before).is_none_or(|(after, before)| after - before < 2);
    if done { set_merging(tx, 0) } else { Ok(()) }
}
