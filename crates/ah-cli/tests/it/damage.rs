//! `ah db check` on databases that somebody else has changed.

use serde_json::{Value, json};

use crate::answers::errors;
use crate::support::Home;

const GAPS: &str = "events of a session are numbered from 1 without gaps";
const LAST_SEQ: &str = "last_seq of a session is the seq of its newest event";
const STATUS: &str = "a session has a status of the state machine";
const REFERENCES: &str = "every reference leads to a row";
const PAYLOADS: &str = "payloads of events are JSON";

/// What the check names after `sql` was run on a sound database.
#[track_caller]
fn named(sql: &str) -> Vec<Value> {
    let home = Home::new();
    home.session_with_events("s1", 3);
    home.damage(sql);
    let output = home.run(&["db", "check", "--json"]);
    assert_eq!(output.status.code(), Some(9), "{}", errors(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&answer["ok"], &problem["code"]), (&json!(false), &json!("store")));
    answer["violations"].as_array().unwrap().clone()
}

fn violation(rule: &str, subject: &str) -> Value {
    json!({ "rule": rule, "subject": subject })
}

#[test]
fn a_gap_in_the_numbers_is_named() {
    let found = named("DELETE FROM events WHERE seq = 2");
    assert_eq!(found, [violation(GAPS, "session s1: 2 events from seq 1 to 3")]);
}

#[test]
fn a_log_that_does_not_begin_at_one_is_named() {
    let found = named("DELETE FROM events WHERE seq = 1");
    assert_eq!(found, [violation(GAPS, "session s1: 2 events from seq 2 to 3")]);
}

#[test]
fn a_wrong_last_seq_is_named() {
    let found = named("UPDATE sessions SET last_seq = 7");
    assert_eq!(found, [violation(LAST_SEQ, "session s1: last_seq 7, newest event 3")]);
}

#[test]
fn an_unknown_status_is_named() {
    let found = named("UPDATE sessions SET status = 'dancing'");
    assert_eq!(found, [violation(STATUS, "session s1: status dancing")]);
}

#[test]
fn a_row_without_its_parent_is_named() {
    let found = named(
        "INSERT INTO events (session_id, ts, type, data, seq) \
         VALUES ('gone', '2026-01-01T00:00:00.000Z', 'n', 'null', 1)",
    );
    assert_eq!(found, [violation(REFERENCES, "events row 4 refers to a missing row of sessions")]);
}

#[test]
fn a_payload_that_is_no_json_is_named() {
    let found = named("UPDATE events SET data = '{' WHERE seq = 2");
    assert_eq!(found, [violation(PAYLOADS, "session s1 event 2: not JSON")]);
}

#[test]
fn several_kinds_of_damage_are_all_named_for_people() {
    let home = Home::new();
    home.session_with_events("s1", 3);
    home.damage("DELETE FROM events WHERE seq = 3; UPDATE sessions SET status = 'dancing'");
    let output = home.run(&["db", "check"]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let broken: Vec<_> = text.lines().filter(|line| !line.starts_with("ok ")).collect();
    let expected = [
        "BROKEN last_seq of a session is the seq of its newest event",
        "         session s1: last_seq 3, newest event 2",
        "BROKEN a session has a status of the state machine",
        "         session s1: status dancing",
    ];
    assert_eq!(broken, expected);
    assert_eq!(
        (output.status.code(), errors(&output)),
        (
            Some(9),
            "error: the database is damaged: 2 rules are broken\n\
             hint: `ah db restore FILE` puts a backup in its place and keeps this one\n"
                .to_owned()
        )
    );
}

#[test]
fn a_broken_page_is_named() {
    let home = Home::new();
    let data = format!("{{\"type\":\"n\",\"data\":\"{}\"}}\n", "x".repeat(20_000));
    home.create_session("s1");
    home.feed(&["session", "append", "s1", "--stdin-jsonl"], data.repeat(20).as_bytes());
    home.connect().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(home.database()).unwrap();
    let root: i64 = home
        .connect()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'events'", [], |row| row.get(0))
        .unwrap();
    let at = (usize::try_from(root).unwrap() - 1) * 4_096;
    bytes[at..at + 100].fill(0xa5);
    std::fs::write(home.database(), &bytes).unwrap();
    let output = home.run(&["db", "check", "--json"]);
    assert_eq!(output.status.code(), Some(9), "{}", errors(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let named = answer["violations"].as_array().unwrap();
    let page = format!("page {root}: ");
    let names_page = |violation: &&Value| violation["subject"].as_str().unwrap().contains(&page);
    let rules: Vec<_> =
        named.iter().filter(names_page).map(|violation| &violation["rule"]).collect();
    assert_eq!(rules.first(), Some(&&json!("the file's structure is sound")), "{answer}");
    let told = violation(PAYLOADS, "cannot be told: database disk image is malformed");
    assert!(named.contains(&told), "{answer}");
    assert_eq!(std::fs::read(home.database()).unwrap(), bytes, "nothing was written");
    let text = String::from_utf8(home.run(&["db", "check"]).stdout).unwrap();
    let long: Vec<_> = text.lines().filter(|line| line.chars().count() > 100).collect();
    // A line for each rule, and a few about what is wrong, however much that is.
    let most = answer["rules"].as_array().unwrap().len() + 15;
    assert_eq!((text.lines().count() <= most, long), (true, vec![]), "{text}");
}
