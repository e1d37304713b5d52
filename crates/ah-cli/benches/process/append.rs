//! What one `ah session append` costs as a whole process, beside a minimal program that opens the
//! same file, inserts one row durably and closes.
//!
//! The minimal program is this bench itself, which links nothing but SQLite.

use std::path::Path;

use super::figure::{Figure, Goal, median};
use super::{ah, open, raw, run};

/// The first argument of the minimal program.
pub(crate) const MINIMAL: &str = "--minimal-append";
/// As long as the ids we mint.
const ID: &str = "019b7ca9-8f2e-7001-a2ee-000000000001";
const ROUNDS: usize = 400;

pub(crate) fn measure() -> Vec<Figure> {
    vec![
        side_by_side("last connection: the WAL is checkpointed and removed", false),
        side_by_side("another process keeps the database open", true),
    ]
}

/// Opens, inserts one row durably, closes.
pub(crate) fn minimal(path: &Path) {
    let connection = open(path);
    connection.execute_batch("PRAGMA synchronous = FULL").unwrap();
    let sql = "INSERT INTO events (session_id, seq, ts, type, data) \
               SELECT '019b7ca9-8f2e-7001-a2ee-000000000001', last_seq + 1, '2026-01-01T00:00:00.000Z', 'note', '{\"a\":1}' \
               FROM sessions WHERE id = '019b7ca9-8f2e-7001-a2ee-000000000001'";
    let advance = "UPDATE sessions SET last_seq = last_seq + 1 WHERE id = '019b7ca9-8f2e-7001-a2ee-000000000001'";
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {sql}; {advance}; COMMIT")).unwrap();
}

fn side_by_side(note: &str, kept_open: bool) -> Figure {
    let directory = tempfile::tempdir().unwrap();
    let sides = [directory.path().join("ours"), directory.path().join("raw")];
    for home in &sides {
        run(ah(home).args(["session", "create", "--id", ID, "--agent", "codex"]));
    }
    let databases = sides.clone().map(|home| home.join("state.db"));
    let kept = databases.each_ref().map(|path| {
        let connection = open(path);
        // A connection holds the file only once it has read it.
        connection.execute_batch("SELECT count(*) FROM sessions").unwrap();
        connection
    });
    let kept = if kept_open { Some(kept) } else { None };
    let append = ["session", "append", ID, "--type", "note", "--data", "{\"a\":1}"];
    let (mut ours, mut minimal) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(run(ah(&sides[0]).args(append)));
        minimal.push(run(raw().arg(MINIMAL).arg(&databases[1])));
    }
    drop(kept);
    Figure {
        name: "ah session append, whole process",
        unit: "ms",
        ours: median(ours),
        raw: median(minimal),
        goal: Goal::AtMost(1.5),
        note: note.to_owned(),
    }
}
