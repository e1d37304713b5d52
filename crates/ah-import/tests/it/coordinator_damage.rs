//! Rows that hold what no column should, rows that belong to nothing, and files that are none.

use std::fs;

use ah_conformance::block_on;
use ah_import::{ImportError, Progress};
use ah_model::{NewRepo, NewSession, Vcs};

use crate::coordinator_db::{CoordinatorDb, SEED, at, head, kept, session, sessions};
use crate::support::{events, store};

#[test]
fn values_that_no_column_should_hold_are_kept() {
    let (t0, t1) = (at(0), at(1));
    let rows = format!(
        r#"
INSERT INTO sessions VALUES
  ('../we ird', 'napping', 'not a time', 'relative', 'a name', 'later', NULL, x'ff', NULL, 'host');
INSERT INTO events (session_id, event_type, timestamp, tool_name, tool_input, tool_output, exit_code, content, result_text) VALUES
  ('../we ird', 'message', '{t0}', NULL, NULL, NULL, NULL, '[1, 2', NULL),
  ('../we ird', 'post_tool', 'not a time', 'Bash', '{{"x": NaN}}', '0', 'seven', NULL, NULL),
  ('../we ird', 'post_tool', '2026-01-06T10:00:01', CAST(x'61ff' AS TEXT), '', '{{}}', NULL, NULL, ''),
  ('../we ird', '', '{t1}', 'Bash', NULL, NULL, NULL, NULL, NULL),
  ('../we ird', x'ff', '{t1}', NULL, NULL, 'false', NULL, NULL, NULL);
INSERT INTO runs VALUES
  ('run/1', '../we ird', 'begin', 'other', '{{torn', 7, 'gone', 'never', '{{"tags": "x", "gpu": 1, "hostname": 2}}', 'lost',
   'a runner', NULL, 'noon', NULL, NULL, NULL, '{t1}', 'not json', NULL),
  ('run/2', '../we ird', 'start_session', NULL, '[1]', NULL, NULL, 'sync', '[]', 'completed',
   NULL, NULL, '{t1}', NULL, NULL, NULL, '{t0}', '{{"a":1}}', NULL);
"#
    );
    CoordinatorDb::new(&format!("{}{rows}", head())).check(
        r##"
runs 2 new, 0 present; untimed 1, raw 15
../we ird imported; runs 2, records 14, present 0, raw 15
  sessions:1: status: "napping": failed here
  runs:1: status: "lost": failed here
  runs:1: type: "begin" is unknown, a start is taken
  runs:1: demands: tags is no list of texts, left out
  runs:1: demands: "gpu" is unknown, left out
  runs:1: demands: "hostname" is no text, left out
  runs:1: execution_mode: "never" is unknown, sync is taken
  runs:2: timeout_at: 2026-01-06T10:00:00.000Z is no time to wait from 2026-01-06T10:00:01.000Z on
  sessions:1: kept raw: executor_session_id: is no text
  sessions:1: kept raw: agent_name: cannot be the name of an agent kind
  sessions:1: kept raw: created_at: is no time
  sessions:1: kept raw: last_resumed_at: is no time
  runs:1: kept raw: created_at: is no time
  runs:1: kept raw: runner_id: cannot be the id of an executor
  runs:1: kept raw: parameters: is not JSON: key must be a string at line 1 column 2
  runs:2: kept raw: scope: has no room in the parameters
  runs:2: kept raw: demands: is no JSON object
  events:1: kept raw: content: is not JSON: EOF while parsing a list at line 1 column 5
  events:2: kept raw: tool_input: is not JSON: expected value at line 1 column 7
  events:2: timestamp: no time, that of the record before is taken
  events:3: kept raw: tool_name: is not UTF-8
  events:3: kept raw: tool_input: is empty
  events:4: kept raw: invalid type: must not be empty
  events:5: kept raw: its event_type is no text
  runs:1: parent_session_id: "gone" is not there, left out
../we ird id minted agent-coordinator@latest failed in agent-coordinator://no-project-dir 0..1 started 0 active 1
  project=relative host=host reason=imported with the unknown status "napping" [coordinator-status=napping]
    1 unreadable@0 {"file":"sessions","line":1,"reason":"executor_session_id: is no text","raw":"�","rawHex":"ff"}
    2 unreadable@0 {"file":"sessions","line":1,"reason":"agent_name: cannot be the name of an agent kind","raw":"a name"}
    3 unreadable@0 {"file":"sessions","line":1,"reason":"created_at: is no time","raw":"not a time"}
    4 unreadable@0 {"file":"sessions","line":1,"reason":"last_resumed_at: is no time","raw":"later"}
    5 unreadable@0 {"file":"runs","line":1,"reason":"created_at: is no time","raw":"noon"}
    6 unreadable@0 {"file":"runs","line":1,"reason":"runner_id: cannot be the id of an executor","raw":"a runner"}
    7 unreadable@0 {"file":"runs","line":1,"reason":"parameters: is not JSON: key must be a string at line 1 column 2","raw":"{torn"}
    8 unreadable@0 {"file":"runs","line":2,"reason":"scope: has no room in the parameters","raw":"{\"a\":1}"}
    9 unreadable@0 {"file":"runs","line":2,"reason":"demands: is no JSON object","raw":"[]"}
    10 message@0 {"content_raw":"[1, 2"}
    11 post_tool@0 {"tool_name":"Bash","tool_input_raw":"{\"x\": NaN}","tool_output":0,"exit_code":"seven","timestamp":"not a time"}
    12 post_tool@1 {"tool_name_raw":"a�","tool_name_hex":"61ff","tool_input_raw":"","tool_output":{},"result_text":"","timestamp":"2026-01-06T10:00:01"}
    13 unreadable@1 {"file":"events","line":4,"reason":"invalid type: must not be empty","type":"","at":"2026-01-06T10:00:01.000000+00:00","raw":"{\"tool_name\":\"Bash\"}"}
    14 unreadable@1 {"file":"events","line":5,"reason":"its event_type is no text","type":"�","at":"2026-01-06T10:00:01.000000+00:00","raw":"{\"tool_output\":false}"}
    019b92bf-c500-7db2-8161-6ea44437434d start failed sync 0/-/-/0 {"$coordinator":{"agent_name":"other","project_dir":"7","scope":"not json"}} timeout=1000 error=imported with the unknown status "lost"
    019b92bf-c8e8-7e59-8d5d-a41722eaf65b start completed sync 1/-/-/1 [1]
"##,
    );
}

#[test]
fn what_belongs_to_no_session_is_kept_and_links_to_nothing_are_left_out() {
    let (t0, t1) = (at(0), at(1));
    let rows = format!(
        r#"
INSERT INTO sessions (session_id, status, created_at, parent_session_id) VALUES
  ('a', 'finished', '{t0}', 'gone'), ('b', 'finished', '{t0}', 'c'), ('c', 'finished', '{t0}', 'b'),
  (NULL, 'finished', '{t0}', NULL);
INSERT INTO events (session_id, event_type, timestamp) VALUES
  ('lost', 'message', '{t1}'), ('a', 'message', '{t1}'), ('lost', 'message', '{t0}');
INSERT INTO runs (run_id, session_id, type, parameters, status, created_at, parent_session_id) VALUES
  ('r1', 'lost', 'start_session', '{{}}', 'completed', '{t0}', NULL),
  ('r2', 'found', 'start_session', '{{}}', 'completed', '{t0}', 'gone');
CREATE TABLE notes (text TEXT);
ALTER TABLE sessions ADD COLUMN mood TEXT;
"#
    );
    CoordinatorDb::new(&format!("{}{rows}", head())).check(
        r##"
runs 2 new, 0 present; untimed 0, raw 0
notes: a table of something else, left alone
sessions: its column mood is left out
a imported; runs 0, records 1, present 0, raw 0
  sessions:1: parent_session_id: "gone" is not there, left out
c imported; runs 0, records 0, present 0, raw 0
  sessions:3: parent_session_id: "b" is a child of it, left out
b imported; runs 0, records 0, present 0, raw 0
 failed: has no id, so that it could not be found again; runs 0, records 0, present 0, raw 0
lost imported; runs 1, records 2, present 0, raw 0
  sessions: no row of that id: a session that failed stands for it
found imported; runs 1, records 0, present 0, raw 0
  sessions: no row of that id: a session that failed stands for it
  runs:2: parent_session_id: "gone" is not there, left out
a id same agent-coordinator@latest succeeded in agent-coordinator://no-project-dir 0..1 started 0 active 1
    1 message@1 {}
b id same agent-coordinator@latest succeeded in agent-coordinator://no-project-dir 0..0 started 0 active 0
  parent=c
c id same agent-coordinator@latest succeeded in agent-coordinator://no-project-dir 0..0 started 0 active 0
found id same agent-coordinator@latest failed in agent-coordinator://no-project-dir 0..0 started 0 active 0
  reason=imported without its row: only events or runs of it were left
    r2 start completed sync 0/-/-/0 {}
lost id same agent-coordinator@latest failed in agent-coordinator://no-project-dir 1..1 started 1 active 1
  reason=imported without its row: only events or runs of it were left
    1 message@1 {}
    2 message@0 {}
    r1 start completed sync 0/-/-/0 {}
"##,
    );
}

#[test]
fn an_id_that_is_taken_here_is_left_to_what_has_it() {
    let statements = format!(
        "{}INSERT INTO sessions (session_id, status, created_at) VALUES ('s', 'finished', '{1}'), ('t', 'finished', '{1}');
         INSERT INTO events (session_id, event_type, timestamp) VALUES ('s', 'message', '{1}');
         INSERT INTO runs (run_id, session_id, type, parameters, status, created_at)
           VALUES ('r', 's', 'start_session', '{{}}', 'completed', '{1}');",
        head(),
        at(0)
    );
    let database = CoordinatorDb::new(&statements);
    let store = store();
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/elsewhere".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let mut new = NewSession::new(repo, "claude".parse().unwrap());
    new.id = Some("s".parse().unwrap());
    let ours = block_on(store.create_session(new)).unwrap();
    let foretold = database.dry_run(&*store);
    let report = database.import(&*store);
    assert_eq!(foretold.details, report.details);
    let came = session(&*store, "s");
    assert_ne!(came.id, ours.id);
    assert_eq!(report.details[0].session_id.as_ref(), Some(&came.id));
    assert_eq!(block_on(store.session(ours.id.clone())).unwrap(), ours);
    assert_eq!(events(&*store, &came).len(), 1);
    assert_eq!(block_on(store.session_runs(came.id)).unwrap().len(), 1);
    assert_eq!(sessions(&*store).len(), 3);
    let again = database.import(&*store);
    assert_eq!((again.sessions.unchanged, again.runs.present), (2, 1));
}

fn refusal(database: &CoordinatorDb) -> String {
    let error = database.try_import(&*store()).unwrap_err();
    assert!(matches!(error, ImportError::NotCoordinatorDatabase { .. }), "{error:?}");
    let text = error.to_string();
    let (file, reason) = text.split_once(" is not a database of the Agent Coordinator: ").unwrap();
    assert_eq!(file, database.path().display().to_string());
    reason.to_owned()
}

#[test]
fn what_is_no_database_of_the_agent_coordinator_is_refused_with_what_was_expected() {
    let expected = "`sessions` and `events` are expected, as in its `observability.db`";
    let database = CoordinatorDb::new("CREATE TABLE agents (id TEXT);");
    assert_eq!(refusal(&database), format!("it has no table sessions; {expected}"));
    database.run("CREATE TABLE sessions (id TEXT)");
    let reason = format!("its table sessions has no column session_id; {expected}");
    assert_eq!(refusal(&database), reason);
    database.run("ALTER TABLE sessions RENAME COLUMN id TO session_id");
    assert_eq!(refusal(&database), format!("it has no table events; {expected}"));
    fs::write(database.path(), "no database at all, but some text of it").unwrap();
    assert_eq!(refusal(&database), "file is not a database");
    fs::write(database.path(), "").unwrap();
    assert_eq!(refusal(&database), format!("it has no table sessions; {expected}"));
    fs::remove_file(database.path()).unwrap();
    let error = database.try_import(&*store()).unwrap_err();
    assert!(matches!(error, ImportError::Unreadable { .. }), "{error:?}");
    assert!(!database.path().exists());
}

#[test]
fn the_least_that_a_table_may_have_is_the_id_of_a_session() {
    let statements =
        "CREATE TABLE sessions (session_id TEXT); CREATE TABLE events (session_id TEXT);
        INSERT INTO sessions VALUES ('s'); INSERT INTO events VALUES ('s');";
    let store = store();
    let database = CoordinatorDb::new(statements);
    let report = database.import(&*store);
    assert_eq!((report.sessions.imported, report.records.kept_raw), (1, 1));
    database.check_unchanged(&*store);
}

#[test]
fn a_write_that_was_left_half_done_is_not_touched() {
    let database = CoordinatorDb::new(SEED);
    let journal = database.dir().join("observability.db-journal");
    fs::write(&journal, "half").unwrap();
    let reason = "a write was left half done; let the Agent Coordinator or sqlite3 open it once";
    assert_eq!(refusal(&database), reason);
    assert!(journal.exists());
}

fn one_session() -> String {
    let row = "INSERT INTO sessions (session_id, status, created_at)";
    format!("{SEED}{row} VALUES ('s', 'finished', '{0}'), ('t', 'finished', '{0}');", at(0))
}

#[test]
fn what_is_in_a_write_ahead_log_is_read_and_the_log_stays() {
    let database = CoordinatorDb::new(&one_session());
    let writer = database.connect();
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    let insert =
        "INSERT INTO events (session_id, event_type, timestamp) VALUES ('s', 'message', ?1)";
    writer.execute(insert, [at(1)]).unwrap();
    let log = fs::read(database.dir().join("observability.db-wal")).unwrap();
    assert!(!log.is_empty());
    let store = store();
    assert_eq!(database.import(&*store).records.imported, 1);
    assert_eq!(fs::read(database.dir().join("observability.db-wal")).unwrap(), log);
    // Its writer goes on.
    writer.execute(insert, [at(2)]).unwrap();
    assert_eq!(database.import(&*store).records.imported, 1);
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let database = CoordinatorDb::new(&one_session());
    for path in [database.path(), database.dir().to_owned()] {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
    }
    let report = database.import(&*store());
    let mut permissions = fs::metadata(database.dir()).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "the directory is to be removed")]
    permissions.set_readonly(false);
    fs::set_permissions(database.dir(), permissions).unwrap();
    assert_eq!(report.sessions.imported, 2);
}

#[test]
fn a_database_that_changes_meanwhile_ends_the_import_and_the_next_one_goes_on() {
    let database = CoordinatorDb::new(&one_session());
    let store = store();
    let mut change = |progress: Progress<'_>| {
        if let Progress::Agent { name: "s", .. } = progress {
            database.run("INSERT INTO events (session_id, event_type, timestamp) VALUES ('t', 'message', 'x')");
        }
    };
    let error = database.import_with(&*store, &mut change).unwrap_err();
    assert!(error.to_string().ends_with("stop the Agent Coordinator and run it again"), "{error}");
    assert_eq!(sessions(&*store).len(), 1);
    let report = database.import(&*store);
    assert_eq!((report.sessions.unchanged, report.sessions.imported), (1, 1));
}

#[test]
fn what_is_too_large_for_an_event_is_kept_in_parts() {
    let rows = format!(
        "INSERT INTO events (session_id, event_type, timestamp, tool_input, tool_output)
           VALUES ('s', 'post_tool', '{}', '\"' || printf('%.*c', 17000000, 'x') || '\"', '[]');",
        at(1)
    );
    let database = CoordinatorDb::new(&format!("{}{rows}", one_session()));
    let store = store();
    let report = database.import(&*store);
    assert_eq!((report.records.kept_raw, report.details[0].kept_raw), (1, 1));
    let parts = events(&*store, &session(&*store, "s"));
    let raw = |event: &ah_model::Event| {
        let data: serde_json::Value = event.data.read().unwrap();
        data["raw"].as_str().unwrap().to_owned()
    };
    let whole: String = parts.iter().map(raw).collect();
    let value: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(value["tool_input"].as_str().unwrap().len(), 17_000_000);
    assert_eq!(value["tool_output"], serde_json::json!([]));
    database.check_unchanged(&*store);
    assert!(kept(&*store).contains("unreadable@1"));
}
