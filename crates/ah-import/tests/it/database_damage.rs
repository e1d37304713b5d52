//! Databases that hold what no column should, rows that belong to nothing, and files that are none.

use std::fs;

use ah_conformance::block_on;
use ah_import::{ImportError, Progress, import_daycare_db};

use crate::database::{DaycareDb, SCHEMA};
use crate::support::{agents, options, store};

#[test]
fn values_that_no_column_should_hold_are_kept() {
    let rows = r#"
        INSERT INTO agents VALUES
          ('bad', 'no word!', 'not json', 's', '{"web":true}', 'nor this', '[1]', 'undead',
           'yesterday', 1771200060000.5);
        INSERT INTO sessions VALUES ('s', 'bad', x'ff', 1771200000000.5, CAST(x'61ff' AS TEXT));
        INSERT INTO session_history (session_id, type, at, data) VALUES
          ('s', 'note', 1771200000001.5, '{"text":"real"}'),
          ('s', 'note', 'noon', '{"text":"text"}'),
          ('s', 'note', 1771200000003, '{torn'),
          ('s', '', 1771200000004, '{}'),
          ('s', x'00', 1771200000005, x'ff'),
          ('s', 'note', 1771200000006, '[1, 2]'),
          ('s', 'note', 1771200000007.5, '7'),
          ('s', 'note', 1771200000008, x'7b7d');"#;
    DaycareDb::new(&format!("{SCHEMA}{rows}")).check(
        r##"
markers 0, untimed 1, blank 0
bad imported; sessions 1, records 11, present 0, raw 6
  descriptor: is not JSON: expected ident at line 1 column 2: an agent of unknown type
  agents:1: type: not a word, that of the descriptor is taken
  agents: permissions: `web` is `network` now, `events` is missing and false
  agents:1: stats: not a JSON object, empty ones are taken
  agents:1: lifecycle: not one of active, sleeping, dead: active is taken
  agents:1: created_at: "yesterday" is no whole number
  agents:1: updated_at: 1771200060000.5 is no whole number
  sessions:1: created_at: 1771200000000.5 is no whole number
  sessions:1: kept raw: reset_message: cannot be stored as it is
  sessions:1: kept raw: inference_session_id: cannot be stored as it is
  session_history:1: at: 1771200000001.5 is no whole number of milliseconds, rounded down
  session_history:2: at: no time, that of the record before is taken
  session_history:3: kept raw: is not JSON: key must be a string at line 1 column 2
  session_history:4: kept raw: invalid type: must not be empty
  session_history:5: kept raw: is not UTF-8 from byte 0 on
  session_history:7: at: 1771200000007.5 is no whole number of milliseconds, rounded down
  agents: kept raw: tokens: is not JSON: expected ident at line 1 column 2
agent bad id same from daycare-db bad: unknown active 0..60000
  permissions {"network":true,"events":false}
  metadata {"daycare":{"descriptorRaw":"not json","permissions":{"web":true},"stats":[1],"columns":{"type":"no word!","lifecycle":"undead","created_at":"yesterday","updated_at":1771200060000.5}}}
  session 1 s created running active in DIR 0.. message "a�"
    1 unreadable@0 {"file":"sessions","line":1,"reason":"reset_message: cannot be stored as it is","raw":"a�","rawHex":"61ff"}
    2 unreadable@0 {"file":"sessions","line":1,"reason":"inference_session_id: cannot be stored as it is","raw":"�","rawHex":"ff"}
    3 note@1 {"text":"real","at":1771200000001.5}
    4 note@1 {"text":"text","at":"noon"}
    5 unreadable@3 {"file":"session_history","line":3,"reason":"is not JSON: key must be a string at line 1 column 2","type":"note","at":1771200000003,"raw":"{torn"}
    6 unreadable@4 {"file":"session_history","line":4,"reason":"invalid type: must not be empty","type":"","at":1771200000004,"raw":"{}"}
    7 unreadable@5 {"file":"session_history","line":5,"reason":"is not UTF-8 from byte 0 on","type":"\u0000","at":1771200000005,"raw":"�","rawHex":"ff"}
    8 note@6 [1,2]
    9 note@7 7
    10 note@8 {}
    11 unreadable@8 {"file":"agents","reason":"tokens: is not JSON: expected ident at line 1 column 2","raw":"nor this"}
"##,
    );
}

#[test]
fn sessions_of_no_agent_and_history_of_no_session_are_kept() {
    let rows = r#"
        INSERT INTO sessions VALUES ('s1', 'gone', NULL, 1771200000001, NULL),
          ('s2', 'gone', 'i', 1771200000002, 'm');
        INSERT INTO session_history (session_id, type, at, data) VALUES
          ('lost', 'note', 1771200000007, '{"n":1}'),
          ('s1', 'note', 1771200000003, '{"n":2}'),
          ('found', 'note', 1771200000005, '{"n":3}'),
          ('lost', 'note', 1771200000008, '{"n":4}');"#;
    DaycareDb::new(&format!("{SCHEMA}{rows}")).check(
        r##"
markers 0, untimed 0, blank 0
gone imported; sessions 2, records 1, present 0, raw 0
  agents: no row of that id: an agent that sleeps stands for it
history of no session imported; sessions 2, records 3, present 0, raw 0
  agents: no row of that id: an agent that sleeps stands for it
  sessions: no row of the id "lost"
  sessions: no row of the id "found"
agent gone id same from daycare-db gone: unknown sleeping 1..1
  session 1 s1 created succeeded in DIR 1..2 reset
    1 note@3 {"n":2}
  session 2 s2 reset created active in DIR 2.. inference i message "m"
agent history-of-no-session id minted from daycare-db history of no session: unknown sleeping 7..7
  session 1 orphan:lost created succeeded in DIR 7..8 reset
    1 note@7 {"n":1}
    2 note@8 {"n":4}
  session 2 orphan:found reset running active in DIR 5..
    1 note@5 {"n":3}
"##,
    );
}

#[test]
fn an_agent_without_sessions_or_without_an_id_is_named() {
    let rows = r#"
        INSERT INTO agents VALUES
          (NULL, 'user', '{}', NULL, '{"events":true}', NULL, '{}', 'active', 1, 2),
          ('b', 'user', '{}', NULL, '{"events":true}', NULL, '{}', 'active', 1771200000001, 1771200000002);"#;
    DaycareDb::new(&format!("{SCHEMA}{rows}")).check(
        r##"
markers 0, untimed 0, blank 0
 failed: has no id, so that no session can be its; sessions 0, records 0, present 0, raw 0
b imported; sessions 1, records 0, present 0, raw 0
  sessions: none of this agent: one without records
agent b id same from daycare-db b: user active 1..2
  permissions {"events":true}
  session 1 b/none created created active in DIR 1..
"##,
    );
}

fn refusal(database: &DaycareDb) -> String {
    let error = database.try_import(&*store(), false).unwrap_err();
    assert!(matches!(error, ImportError::NotDaycareDatabase { .. }), "{error:?}");
    let text = error.to_string();
    text.split_once(": ").unwrap().1.to_owned()
}

#[test]
fn what_is_no_database_of_daycare_is_refused_with_the_reason() {
    let database = DaycareDb::new("CREATE TABLE agents (id TEXT);");
    assert_eq!(refusal(&database), "it has no table sessions");
    database.run("CREATE TABLE sessions (id TEXT)");
    assert_eq!(refusal(&database), "its table sessions has no column agent_id");
    let view = DaycareDb::new("CREATE VIEW agents AS SELECT 1 AS id;");
    assert_eq!(refusal(&view), "it has no table agents");
    fs::write(view.path(), "no database at all, but some text of it").unwrap();
    assert_eq!(refusal(&view), "file is not a database");
    fs::remove_file(view.path()).unwrap();
    let error = view.try_import(&*store(), false).unwrap_err();
    assert!(matches!(error, ImportError::Unreadable { .. }), "{error:?}");
    assert!(!view.path().exists());
}

#[test]
fn a_write_that_was_left_half_done_is_not_touched() {
    let database = DaycareDb::new(SCHEMA);
    let journal = database.dir().join("daycare.db-journal");
    fs::write(&journal, "half").unwrap();
    let reason = "a write was left half done; let Daycare or sqlite3 open it once";
    assert_eq!(refusal(&database), reason);
    assert!(journal.exists());
}

#[test]
fn a_database_that_changes_meanwhile_ends_the_import() {
    let rows = r#"
        INSERT INTO agents VALUES
          ('a', 'user', '{}', NULL, '{}', NULL, '{}', 'active', 1, 2),
          ('b', 'user', '{}', NULL, '{}', NULL, '{}', 'active', 1, 2);"#;
    let database = DaycareDb::new(&format!("{SCHEMA}{rows}"));
    let store = store();
    let mut change = |progress: Progress<'_>| {
        if let Progress::Agent { name: "a", .. } = progress {
            database.run("INSERT INTO sessions VALUES ('s', 'b', NULL, 1, NULL)");
        }
    };
    let path = database.path();
    let error = block_on(import_daycare_db(&*store, &path, &options(), &mut change)).unwrap_err();
    assert!(error.to_string().ends_with("stop Daycare and run it again"), "{error}");
    assert_eq!(agents(&*store).len(), 1);
    let report = database.import(&*store);
    assert_eq!((report.agents.unchanged, report.agents.imported), (1, 1));
}

#[test]
fn a_long_history_is_read_in_pages() {
    let rows = r#"
        INSERT INTO agents VALUES ('a', 'user', '{}', NULL, '{}', NULL, '{}', 'active', 1, 2);
        INSERT INTO sessions VALUES ('s', 'a', NULL, 1, NULL);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO session_history (session_id, type, at, data)
          SELECT 's', 'note', i, json_object('i', i) FROM n;"#;
    let database = DaycareDb::new(&format!("{SCHEMA}{rows}"));
    let store = store();
    assert_eq!(database.import(&*store).records.imported, 2_500);
    let events = crate::support::all_events(&*store);
    let in_order = events.iter().zip(1..).all(|(event, number)| {
        event.dedup_key == Some(format!("h{number}"))
            && event.data.as_str() == format!("{{\"i\":{number}}}")
    });
    assert!(in_order);
    database.check_unchanged(&*store);
}
