//! `ah upgrade`, and opening a database that an older program made.

use std::path::{Path, PathBuf};

use ah_store_sql::SCHEMA_VERSION as NOW;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::answers::{connect, errors, shape};
use crate::support::{Home, succeeded};

const TABLES: [&str; 2] = [
    include_str!("../../../ah-store-sql/migrations/sqlite/1__base_tables.sql"),
    include_str!("../../../ah-store-sql/migrations/sqlite/2__executor_tables.sql"),
];

/// The step after which rows of [`ROWS`] no longer fit the tables.
const LOGS: &str = include_str!("../../../ah-store-sql/migrations/sqlite/3__logs_and_lineage.sql");

const ROWS: &str = r#"
    INSERT INTO repos (id, vcs, root_path, remote_url, default_branch, created_at)
        VALUES (1, 'git', '/srv/a', 'https://example.com/a.git', 'main', '2024-01-01T00:00:00.000Z');
    INSERT INTO agents (id, name, version) VALUES (1, 'claude-code', 'latest'), (2, 'codex', '1.0');
    INSERT INTO runtimes (id, type, devcontainer_path)
        VALUES (1, 'local', NULL), (2, 'devcontainer', '.devcontainer/devcontainer.json');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, ended_at) VALUES
        ('done', 1, 1, 1, 'completed', '2024-01-02T03:04:05Z', '2024-01-02T04:00:00Z'),
        ('half', 1, 1, 2, 'running', '2024-01-03T03:04:05+02:00', NULL),
        ('odd', 1, 2, 1, 'wobbling', '2024-01-04 03:04:05', '2024-01-04 03:05:00');
    INSERT INTO tasks (session_id, prompt, branch, delivery, instances, labels)
        VALUES ('done', 'fix it', 'b', 'pr', 1, '{"team":"core"}'), ('half', 'go on', NULL, NULL, 1, NULL);
    INSERT INTO events (session_id, ts, type, data) VALUES
        ('done', '2024-01-02T03:05:00.000Z', 'a', '{"n":1}'),
        ('half', '2024-01-03T03:05:00.000Z', 'x', NULL),
        ('done', '2024-01-02T03:04:59.000Z', 'b', '[2]'),
        ('done', '2024-01-02T03:06:00.000Z', 'c', 'null');
    INSERT INTO drafts (id, description, repository, models)
        VALUES ('d1', 'later', '/srv/a', '["codex"]');
    INSERT INTO kv (scope, k, v) VALUES ('user', 'k', 'v');
"#;

/// Makes the database as the program of that version left it.
fn old(home: &Home, version: usize) -> Connection {
    std::fs::create_dir_all(home.state()).unwrap();
    let connection = home.connect();
    TABLES[..version].iter().chain([&ROWS]).for_each(|sql| connection.execute_batch(sql).unwrap());
    connection.execute_batch(&format!("PRAGMA user_version = {version}")).unwrap();
    connection
}

/// As [`old`], by the program that first recorded its steps.
fn old_of_version_three(home: &Home) {
    let connection = old(home, 2);
    connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {LOGS}")).unwrap();
    // What is recorded of a step is the same in a database of today.
    let fresh = Home::new();
    fresh.create_session("s1");
    let today = fresh.database();
    let copy = format!(
        "ATTACH '{}' AS today; INSERT INTO main.schema_migrations SELECT * FROM \
         today.schema_migrations WHERE version <= 3; PRAGMA user_version = 3",
        today.display()
    );
    connection.execute_batch(&copy).unwrap();
}

/// The steps from version 2 on.
const STEPS: [&str; 12] = [
    "3__logs_and_lineage",
    "4__agents",
    "5__leases_and_tokens",
    "6__hive",
    "7__message_blocks",
    "8__enrolled_executors",
    "9__fleets",
    "10__search",
    "11__spendings",
    "12__known_blocks",
    "13__repo_fingerprints",
    "14__overviews",
];

fn backups(home: &Home) -> Vec<PathBuf> {
    let names = std::fs::read_dir(home.state()).unwrap().map(|entry| entry.unwrap().path());
    names.filter(|path| path.to_str().unwrap().contains(".backup-v")).collect()
}

fn version(path: &Path) -> i64 {
    connect(path).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

fn events(home: &Home, id: &str) -> Vec<(u64, String, Value)> {
    let page = home.json(&["session", "events", id]);
    let of = |event: &Value| {
        let kind = event["type"].as_str().unwrap().to_owned();
        (event["seq"].as_u64().unwrap(), kind, event["data"].clone())
    };
    page["items"].as_array().unwrap().iter().map(of).collect()
}

#[track_caller]
fn everything_is_readable(home: &Home) {
    let expected = [(1, "a", json!({ "n": 1 })), (2, "b", json!([2])), (3, "c", Value::Null)];
    assert_eq!(
        events(home, "done"),
        expected.map(|(seq, kind, data)| (seq, kind.to_owned(), data))
    );
    assert_eq!(events(home, "half"), [(1, "x".to_owned(), Value::Null)]);
    let done = home.json(&["session", "show", "done"]);
    assert_eq!((&done["status"], &done["lastSeq"]), (&json!("succeeded"), &json!(3)));
    assert_eq!(done["startedAt"], "2024-01-02T03:04:05.000Z");
    assert_eq!(done["repo"]["remoteUrl"], "https://example.com/a.git");
    let half = home.json(&["session", "show", "half"]);
    assert_eq!(
        (&half["status"], &half["startedAt"]),
        (&json!("running"), &json!("2024-01-03T01:04:05.000Z"))
    );
    let runtime = json!({
        "type": "devcontainer", "devcontainerPath": ".devcontainer/devcontainer.json",
    });
    assert_eq!(half["runtime"], runtime);
    let odd = home.json(&["session", "show", "odd"]);
    assert_eq!(
        (&odd["status"], &odd["exit"]["reason"]),
        (&json!("failed"), &json!("status was wobbling"))
    );
    let task = home.json(&["task", "show", "1"]);
    assert_eq!((&task["prompt"], &task["labels"]), (&json!("fix it"), &json!({ "team": "core" })));
    assert_eq!(home.human(&["kv", "get", "k"]), "v\n");
    assert_eq!(home.json(&["draft", "show", "d1"])["models"], json!(["codex"]));
    assert_eq!(home.json(&["db", "check"])["violations"], json!([]));
    let appended = home.json(&["session", "append", "half", "--type", "y"]);
    assert_eq!(appended["firstSeq"], 2);
}

#[test]
fn a_database_of_version_one_is_upgraded_on_opening_and_kept() {
    let home = Home::new();
    drop(old(&home, 1));
    let output = home.run(&["session", "list", "--json"]);
    succeeded(&output, "list");
    let [backup] = &backups(&home)[..] else { panic!("one backup") };
    let said = format!(
        "upgraded the database from schema 1 to {NOW}; the old one is kept at {}\n",
        backup.display()
    );
    assert_eq!(errors(&output), said);
    assert_eq!((version(backup), version(&home.database())), (1, NOW));
    let kept: i64 =
        connect(backup).query_row("SELECT count(*) FROM events", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 4);
    everything_is_readable(&home);
    assert_eq!(backups(&home).len(), 1);
}

#[test]
fn a_database_of_version_two_is_upgraded_when_asked() {
    let home = Home::new();
    drop(old(&home, 2));
    let before = std::fs::read(home.database()).unwrap();
    let dry = home.json(&["upgrade", "--dry-run"]);
    let expected = json!({
        "from": 2, "to": NOW, "steps": STEPS, "backup": null, "dropped": 0,
        "dryRun": true,
    });
    assert_eq!(dry, expected);
    let text = home.human(&["upgrade", "--dry-run"]);
    assert_eq!(
        text,
        format!(
            "the database would go from schema 2 to {NOW}: {}\na backup would be made first\n",
            STEPS.join(", ")
        )
    );
    assert_eq!(std::fs::read(home.database()).unwrap(), before, "nothing was written");
    let done = home.json(&["upgrade"]);
    let [backup] = &backups(&home)[..] else { panic!("one backup") };
    let expected = json!({
        "from": 2, "to": NOW, "steps": STEPS, "backup": backup, "dropped": 0,
        "dryRun": false,
    });
    assert_eq!(done, expected);
    everything_is_readable(&home);
    let again = json!({ "from": NOW, "to": NOW, "steps": [], "backup": null, "dropped": 0, "dryRun": false });
    assert_eq!(home.json(&["upgrade"]), again);
    assert_eq!(
        home.human(&["upgrade"]),
        format!("the database is at schema {NOW}, nothing to do\n")
    );
}

#[test]
fn a_database_of_version_three_gets_agents() {
    let home = Home::new();
    old_of_version_three(&home);
    let done = home.json(&["upgrade"]);
    assert_eq!((&done["from"], &done["dropped"]), (&json!(3), &json!(0)));
    everything_is_readable(&home);
    home.json(&["agent", "create", "bob", "--kind", "codex@1.0"]);
    home.json(&["agent", "say", "bob", "hello"]);
    assert_eq!(home.json(&["session", "show", "half"]).get("ofAgent"), None);
    assert_eq!(home.json(&["db", "check"])["violations"], json!([]));
}

#[test]
fn the_backup_of_an_upgrade_can_be_restored() {
    let home = Home::new();
    drop(old(&home, 2));
    home.json(&["upgrade"]);
    home.json(&["session", "append", "half", "--type", "after"]);
    let [backup] = &backups(&home)[..] else { panic!("one backup") };
    home.json(&["db", "restore", backup.to_str().unwrap()]);
    everything_is_readable(&home);
}

#[test]
fn a_finished_session_without_an_end_and_a_running_one_with_it_come_out_sound() {
    let home = Home::new();
    let connection = old(&home, 2);
    connection
        .execute_batch(
            "UPDATE sessions SET ended_at = NULL WHERE id = 'done';
             UPDATE sessions SET ended_at = '2024-01-05T00:00:00Z' WHERE id = 'half';
             UPDATE sessions SET ended_at = NULL WHERE id = 'odd';",
        )
        .unwrap();
    drop(connection);
    home.json(&["upgrade"]);
    assert_eq!(home.json(&["db", "check"])["violations"], json!([]));
}

#[test]
fn a_fresh_place_has_nothing_to_upgrade_from() {
    let home = Home::new();
    let dry = home.json(&["upgrade", "--dry-run"]);
    assert_eq!((&dry["from"], &dry["to"]), (&json!(0), &json!(NOW)));
    assert!(!home.state().exists());
    let done = home.json(&["upgrade"]);
    assert_eq!((&done["from"], &done["backup"]), (&json!(0), &Value::Null));
}

#[test]
fn a_newer_database_is_refused_and_not_touched() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    home.damage("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
    let before = std::fs::read(home.database()).unwrap();
    let detail = format!(
        "database DIR/state/state.db has schema version 99, this program knows up to {NOW}"
    );
    for arguments in [
        &["session", "list"][..],
        &["session", "append", "s1", "--type", "n"],
        &["session", "create"],
        &["upgrade"],
        &["upgrade", "--dry-run"],
        &["db", "check"],
        &["db", "backup", "b.db"],
    ] {
        assert_eq!(home.detail(arguments, 9), detail, "{arguments:?}");
    }
    assert_eq!(std::fs::read(home.database()).unwrap(), before);
    assert!(backups(&home).is_empty());
    let hint = "update `ah` to the version that wrote the database; nothing was changed";
    assert_eq!(home.refused(&["session", "list"], 9), format!("error: {detail}\nhint: {hint}\n"));
    assert_eq!(shape(&home.run(&["db", "path"])).0, Some(0));
}
