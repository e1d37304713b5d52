//! `ah db`: the database file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::answers::connect;
use crate::support::Home;

fn ids(home: &Home) -> Vec<String> {
    let page = home.json(&["session", "list"]);
    let mut ids: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect();
    ids.sort();
    ids
}

/// A home with session `s1` and the backup `b.db` of it; after that, `s2` came.
fn backed_up() -> Home {
    let home = Home::new();
    home.session_with_events("s1", 3);
    home.json(&["db", "backup", "b.db"]);
    home.create_session("s2");
    home
}

fn integrity(path: &Path) -> String {
    connect(path).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

#[test]
fn path_says_where_without_making_it() {
    let home = Home::new();
    let expected = json!({ "path": "DIR/state/state.db", "exists": false });
    assert_eq!(home.steady(home.json(&["db", "path"])), expected);
    assert_eq!(home.steady_text(&home.human(&["db", "path"])), "DIR/state/state.db\n");
    assert!(!home.state().exists());
    home.create_session("s1");
    assert_eq!(home.json(&["db", "path"])["exists"], true);
}

#[test]
fn stats_count_bytes_and_rows() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    let mut stats = home.steady(home.json(&["db", "stats"]));
    let sizes: Vec<Value> =
        ["bytes", "walBytes", "freeBytes"].iter().map(|name| stats[name].take()).collect();
    assert!(sizes.iter().all(Value::is_u64), "{sizes:?}");
    let expected = json!({
        "path": "DIR/state/state.db", "schemaVersion": ah_store_sql::SCHEMA_VERSION,
        "bytes": null, "walBytes": null, "freeBytes": null,
        "rows": {
            "agents": 0, "sessions": 1, "tasks": 0, "events": 2, "drafts": 0, "repos": 1, "runs": 0,
            "messages": 0, "approvals": 0, "questions": 0, "kv": 0,
        },
    });
    assert_eq!(stats, expected);
    let text = home.human(&["db", "stats"]);
    assert!(text.contains("\nsize:            ") && text.contains(" KiB\n"), "{text}");
}

#[test]
fn check_proves_every_rule_of_a_sound_database() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    let answer = home.json(&["db", "check"]);
    assert_eq!((&answer["ok"], &answer["violations"]), (&json!(true), &json!([])));
    let rules = answer["rules"].as_array().unwrap();
    let text = home.human(&["db", "check"]);
    let expected: String =
        rules.iter().map(|rule| format!("ok     {}\n", rule.as_str().unwrap())).collect();
    assert_eq!((rules.len() >= 10, text), (true, expected));
}

#[test]
fn backup_is_online_verified_private_and_never_written_over() {
    let home = Home::new();
    home.session_with_events("s1", 3);
    // Somebody is in the middle of writing.
    let writer = home.connect();
    writer.execute_batch("BEGIN IMMEDIATE; UPDATE sessions SET title = 'not yet'").unwrap();
    let done = home.steady(home.json(&["db", "backup", "b.db"]));
    writer.execute_batch("ROLLBACK").unwrap();
    let path = home.work().join("b.db");
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert_eq!(done, json!({ "path": "DIR/work/b.db", "bytes": bytes, "verified": true }));
    assert_eq!(integrity(&path), "ok");
    let title: Option<String> =
        connect(&path).query_row("SELECT title FROM sessions", [], |row| row.get(0)).unwrap();
    assert_eq!(title, None);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
    let detail = home.detail(&["db", "backup", "b.db"], 1);
    assert_eq!(detail, "cannot write backup DIR/work/b.db: a file of that name exists already");
    let named = home.human(&["db", "backup"]);
    assert!(Path::new(named.trim()).starts_with(home.state()), "{named}");
    assert_eq!(integrity(Path::new(named.trim())), "ok");
}

#[test]
fn restore_puts_the_backup_in_place_and_keeps_what_was_there() {
    let home = backed_up();
    let done = home.json(&["db", "restore", "b.db", "--yes"]);
    assert_eq!(ids(&home), ["s1"]);
    assert_eq!(home.json(&["session", "events", "s1"])["items"].as_array().unwrap().len(), 3);
    let kept = PathBuf::from(done["kept"].as_str().unwrap());
    let expected = json!({
        "path": home.database(), "restoredFrom": home.work().join("b.db"), "kept": kept,
    });
    assert_eq!(done, expected);
    home.json(&["db", "restore", kept.to_str().unwrap()]);
    assert_eq!(ids(&home), ["s1", "s2"]);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn restore_replaces_a_damaged_database_and_moves_it_aside() {
    let home = backed_up();
    std::fs::write(home.database(), "no database").unwrap();
    let text = home.human(&["db", "restore", "b.db"]);
    let kept = text.trim().strip_prefix("restored; what was there is kept at ").unwrap();
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "no database");
    assert_eq!(ids(&home), ["s1"]);
}

#[test]
fn restore_makes_a_database_where_there_is_none() {
    let home = backed_up();
    let other = Home::new();
    let backup = home.work().join("b.db");
    assert_eq!(other.human(&["db", "restore", backup.to_str().unwrap()]), "restored\n");
    assert_eq!(ids(&other), ["s1"]);
}

#[test]
fn restore_refuses_what_is_no_sound_backup_of_ours() {
    let home = backed_up();
    let before = std::fs::read(home.database()).unwrap();
    let work = home.work();
    let whole = std::fs::read(work.join("b.db")).unwrap();
    std::fs::write(work.join("text.db"), "no database").unwrap();
    std::fs::write(work.join("cut.db"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(work.join("empty.db"), "").unwrap();
    connect(&work.join("foreign.db")).execute_batch("CREATE TABLE t (x)").unwrap();
    std::fs::write(work.join("newer.db"), &whole).unwrap();
    connect(&work.join("newer.db")).execute_batch("PRAGMA user_version = 99").unwrap();
    for (name, code, part) in [
        ("text.db", 9, "database DIR/work/text.db is damaged: file is not a database"),
        ("cut.db", 9, "database DIR/work/cut.db is damaged: "),
        ("empty.db", 9, "backup DIR/work/empty.db is damaged: it is empty"),
        ("foreign.db", 9, "it belongs to another program, or was never finished"),
        ("newer.db", 9, "has schema version 99, this program knows up to "),
        ("none.db", 1, "cannot read backup DIR/work/none.db: there is no such file"),
    ] {
        let detail = home.detail(&["db", "restore", name, "--yes"], code);
        assert!(detail.contains(part), "{name}: {detail}");
    }
    assert_eq!(ids(&home), ["s1", "s2"]);
    assert_eq!(std::fs::read(home.database()).unwrap(), before, "nothing was written");
    let hint = "hint: nothing was changed; give a file that `ah db backup` made\n";
    assert!(home.refused(&["db", "restore", "text.db"], 9).ends_with(hint));
}

#[test]
fn compact_gives_the_space_of_a_deleted_session_back() {
    let home = Home::new();
    home.create_session("big");
    let line = format!("{{\"type\":\"n\",\"data\":\"{}\"}}\n", "x".repeat(100_000));
    let output =
        home.feed(&["session", "append", "big", "--stdin-jsonl"], line.repeat(50).as_bytes());
    assert!(output.status.success());
    home.json(&["session", "delete", "big"]);
    let done = home.json(&["db", "compact"]);
    let of = |name: &str| done[name].as_u64().unwrap();
    assert_eq!(of("bytesBefore") - of("bytesAfter"), of("bytesFreed"));
    assert!(of("bytesFreed") > 4_000_000, "{done}");
    assert_eq!(std::fs::metadata(home.database()).unwrap().len(), of("bytesAfter"));
    assert_eq!(home.human(&["db", "compact"]), "0 bytes given back\n");
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}
