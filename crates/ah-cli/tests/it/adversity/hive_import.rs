//! An import of a hive that is killed in the middle of any write, and done again.

use rusqlite::types::ValueRef;

use super::shim::Shim;
use crate::answers::connect;
use crate::support::{Home, succeeded};

/// More rows than one step of the import takes, some of which cannot be taken.
const BROKER: &str = "
CREATE TABLE messages (id INTEGER PRIMARY KEY, sender, recipient, body, sent_at, delivered_at,
    in_reply_to);
CREATE TABLE approvals (id INTEGER PRIMARY KEY, agent, kind, commit_ref, requested_at, status,
    resolved_at, note);
CREATE TABLE operator_questions (id INTEGER PRIMARY KEY, asker, question, options_json, multi,
    asked_at, answered_at, answer);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
INSERT INTO messages SELECT i, 'agent' || (i % 7), 'agent' || (i % 5),
    iif(i % 50, 'message ' || i, ''), 1777600000 + i, iif(i % 2, 1777600001 + i, NULL),
    iif(i % 3, NULL, i - 1) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
INSERT INTO approvals SELECT i, 'agent1', 'deploy', '', 1777600000 + i,
    iif(i % 2, 'approved', 'pending'), iif(i % 2, 1777600001 + i, NULL), NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
INSERT INTO operator_questions SELECT i, 'agent2', 'why ' || i, '[]', 0, 1777600000 + i,
    iif(i % 2, 1777600001 + i, NULL), iif(i % 2, 'so', NULL) FROM n;
";

const EVENTS: &str = "
CREATE TABLE events (id INTEGER PRIMARY KEY, ts, kind, payload_json);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO events SELECT i, 1777600000 + i, 'stream',
    iif(i % 90, json_object('n', i, 'text', hex(zeroblob(200))), 'no JSON') FROM n;
";

const IMPORT: [&str; 4] =
    ["import", "hyperhive", "broker.sqlite", "agents/agent1/state/hyperhive-events.sqlite"];

/// When everything in these files happened. Another time is that of an import.
const DAY: &str = "2026-05-01T";

/// Writes between one kill and the next; the whole import makes some two thousand.
const STEP: u64 = 131;

/// What an import leaves, ids aside that are made here.
const LEFT: [&str; 6] = [
    "SELECT * FROM messages ORDER BY number",
    "SELECT * FROM approvals ORDER BY number",
    "SELECT * FROM questions ORDER BY number",
    "SELECT name, type, lifecycle, protected, source, external_id, metadata, session_count,
        created_at, updated_at FROM agent_instances ORDER BY name",
    "SELECT a.name, s.instance_number, s.status, s.source, s.external_id, s.last_seq, s.created_at,
        s.last_activity_at FROM sessions s JOIN agent_instances a ON a.id = s.instance_id
        ORDER BY a.name, s.instance_number",
    "SELECT a.name, s.instance_number, e.seq, e.ts, e.type, e.data, e.dedup_key FROM events e
        JOIN sessions s ON s.id = e.session_id JOIN agent_instances a ON a.id = s.instance_id
        ORDER BY a.name, s.instance_number, e.seq",
];

#[test]
fn an_import_that_was_killed_leaves_what_an_undisturbed_one_does_once_it_is_done_again() {
    let shim = Shim::build();
    let whole = hive();
    let report = whole.json(&IMPORT);
    assert_eq!([&report["messages"]["imported"], &report["messages"]["keptRaw"]], [1_176, 24]);
    let whole = left(&whole);
    let (mut killed, mut halves, mut after) = (0, 0, 7);
    loop {
        let home = hive();
        if !is_killed(&home, &shim, after) {
            break;
        }
        killed += 1;
        let half = left(&home);
        let is_half = |(half, whole): (&Vec<_>, &Vec<_>)| !half.is_empty() && half != whole;
        halves += usize::from(half.iter().zip(&whole).any(is_half));
        // The second try may be killed as well.
        is_killed(&home, &shim, after / 2);
        home.json(&IMPORT);
        assert_same(&left(&home), &whole, after);
        let again = home.json(&IMPORT);
        let new = ["messages", "approvals", "questions", "records"];
        assert_eq!(new.map(|name| &again[name]["imported"]), [0, 0, 0, 0]);
        assert_eq!(home.json(&["db", "check"])["ok"], true);
        after += STEP;
    }
    assert!(killed >= 10 && halves >= 8, "{killed} were killed, {halves} half way");
}

/// A place with a hive's files, and a database that is ready.
fn hive() -> Home {
    let home = Home::new();
    connect(&home.work().join(IMPORT[2])).execute_batch(BROKER).unwrap();
    let events = home.work().join(IMPORT[3]);
    std::fs::create_dir_all(events.parent().unwrap()).unwrap();
    connect(&events).execute_batch(EVENTS).unwrap();
    home.json(&["agent", "list"]);
    home
}

/// Imports until so many writes are made, and says whether there were so many.
fn is_killed(home: &Home, shim: &Shim, after: u64) -> bool {
    use std::os::unix::process::ExitStatusExt;
    let mut command = home.ah(&IMPORT);
    let command = shim.watch(&mut command, &home.state());
    let output = command.env("ADVERSITY_KILL_AFTER", after.to_string()).output().unwrap();
    if output.status.signal() == Some(9) {
        return true;
    }
    succeeded(&output, IMPORT);
    false
}

/// All that an import left, row by row.
fn left(home: &Home) -> Vec<Vec<String>> {
    let connection = home.connect();
    let rows = |text| {
        let mut statement = connection.prepare(text).unwrap();
        let columns = statement.column_count();
        let row =
            |row: &rusqlite::Row<'_>| (0..columns).map(|at| Ok(shown(row.get_ref(at)?))).collect();
        let rows = statement.query_map([], row).unwrap();
        rows.map(|row: rusqlite::Result<Vec<String>>| row.unwrap().join(" ")).collect()
    };
    LEFT.map(rows).into()
}

fn shown(value: ValueRef<'_>) -> String {
    let ValueRef::Text(text) = value else { return format!("{value:?}") };
    let text = String::from_utf8_lossy(text).into_owned();
    match text.parse::<ah_model::Timestamp>() {
        Ok(_) if !text.starts_with(DAY) => "the time of the import".to_owned(),
        _ => text,
    }
}

/// Names the first row that is not as it must be: there are thousands.
#[track_caller]
fn assert_same(left: &[Vec<String>], whole: &[Vec<String>], after: u64) {
    for (table, (left, whole)) in LEFT.iter().zip(left.iter().zip(whole)) {
        let other = left.iter().zip(whole).find(|(left, whole)| left != whole);
        assert_eq!(other, None, "killed in its write number {after}: {table}");
        assert_eq!(left.len(), whole.len(), "killed in its write number {after}: {table}");
    }
}
