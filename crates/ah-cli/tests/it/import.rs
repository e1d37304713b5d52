//! `ah import`: agents that other programs left.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::answers::{connect, errors, shape};
use crate::support::Home;

const STATE: &str = r#"{"permissions":{"workspaceDir":"/srv","events":true},"lifecycle":"active","createdAt":100,"updatedAt":300,"stats":{}}"#;

/// Writes the files of one agent.
fn agent(home: &Home, id: &str, descriptor: &str, state: &str, history: &str) -> PathBuf {
    let folder = home.work().join("daycare/agents").join(id);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in
        [("descriptor.json", descriptor), ("state.json", state), ("history.jsonl", history)]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// An agent with two sessions, and one whose history has lines that cannot be read.
fn daycare(home: &Home) {
    let user = r#"{"type":"user","connector":"chat","userId":"u","channelId":"c"}"#;
    let history = "{\"type\":\"start\",\"at\":100}\n\
        {\"type\":\"user_message\",\"at\":101,\"text\":\"hello\",\"files\":[]}\n\
        {\"type\":\"reset\",\"at\":200,\"message\":\"begin again\"}\n\
        {\"type\":\"user_message\",\"at\":201,\"text\":\"more\",\"files\":[]}\n";
    agent(home, "first", user, STATE, history);
    let bad: String = (1..=12).map(|line| format!("broken {line}\n")).collect();
    agent(home, "second", r#"{"type":"system","tag":"sys"}"#, STATE, &bad);
}

const IMPORT: [&str; 3] = ["import", "daycare", "daycare"];

fn counts(report: &Value) -> [&Value; 5] {
    ["found", "imported", "updated", "unchanged", "skipped"].map(|name| &report["agents"][name])
}

#[test]
fn agents_come_in_with_their_sessions_and_records() {
    let home = Home::new();
    daycare(&home);
    let report = home.json(&IMPORT);
    assert_eq!(counts(&report), [2, 2, 0, 0, 0]);
    assert_eq!([&report["source"], &report["dryRun"]], [&json!("daycare"), &json!(false)]);
    assert_eq!([&report["sessions"], &report["records"]["imported"]], [3, 14]);
    let found = &report["details"][0];
    assert_eq!([&found["outcome"], &found["sessions"]], [&json!("imported"), &json!(2)]);
    let made = home.json(&["agent", "show", found["name"].as_str().unwrap()]);
    assert_eq!(made["kind"], json!({ "type": "daycare", "version": "latest" }));
    assert_eq!(made["origin"], json!({ "source": "daycare", "externalId": "first" }));
    let context = home.json(&["agent", "context", "first"]);
    let said: Vec<_> = context["messages"].as_array().unwrap().iter().collect();
    let said: Vec<_> = said.iter().map(|message| &message["content"][0]["text"]).collect();
    assert_eq!(said, ["begin again", "more"]);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn a_second_import_adds_only_what_is_new() {
    let home = Home::new();
    daycare(&home);
    home.json(&IMPORT);
    let again = home.json(&IMPORT);
    assert_eq!(counts(&again), [2, 0, 0, 2, 0]);
    assert_eq!([&again["records"]["imported"], &again["records"]["present"]], [0, 14]);
    let history = home.work().join("daycare/agents/first/history.jsonl");
    let mut text = std::fs::read_to_string(&history).unwrap();
    text.push_str("{\"type\":\"user_message\",\"at\":202,\"text\":\"new\",\"files\":[]}\n");
    std::fs::write(&history, text).unwrap();
    let grown = home.json(&IMPORT);
    assert_eq!(counts(&grown), [2, 0, 1, 1, 0]);
    assert_eq!(grown["records"]["imported"], 1);
    let said = home.json(&["agent", "history", "first"]);
    assert_eq!(said["items"].as_array().unwrap().len(), 2);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let home = Home::new();
    daycare(&home);
    let mut dry = home.json(&[&IMPORT[..], &["--dry-run"]].concat());
    assert_eq!(home.json(&["agent", "list"])["items"], json!([]));
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
    assert_eq!(dry["dryRun"], true);
    let done = home.json(&IMPORT);
    dry["dryRun"] = json!(false);
    assert_eq!([&dry["agents"], &dry["records"]], [&done["agents"], &done["records"]]);
    let text = home.human(&[&IMPORT[..], &["--dry-run"]].concat());
    assert!(text.contains("dry run:       nothing was written\n"), "{text}");
}

#[test]
fn the_report_for_people_counts_and_lists_remarks() {
    let home = Home::new();
    daycare(&home);
    let text = home.human(&IMPORT);
    let head = "source:        daycare\n\
                agents found:  2\n\
                agents:        2 imported\n\
                new sessions:  3\n\
                new records:   14\n\
                other records: 12 kept raw, 2 beginnings of sessions\n\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.contains("first: imported: 2 sessions, 2 records\n"), "{text}");
    assert!(
        text.contains("sys (second): imported: 1 session, 12 records, 12 kept raw\n"),
        "{text}"
    );
    assert!(text.contains("  history.jsonl line 1: kept raw: "), "{text}");
    assert!(text.contains(" more; `--verbose` lists more\n"), "{text}");
    assert!(!text.contains("history.jsonl line 12"), "{text}");
    let verbose = home.human(&[&IMPORT[..], &["--verbose"]].concat());
    assert!(verbose.contains("  history.jsonl line 12: kept raw: "), "{verbose}");
    assert!(!verbose.contains("more;"), "{verbose}");
    assert!(verbose.contains("sys (second): unchanged: "), "what it has to say it says again");
    assert!(!verbose.contains("first: "), "{verbose}");
}

#[test]
fn lines_that_cannot_be_read_are_kept_and_no_error() {
    let home = Home::new();
    daycare(&home);
    let output = home.run(&IMPORT);
    assert_eq!((output.status.code(), errors(&output)), (Some(0), String::new()));
    let page = home.json(&["agent", "history", "sys"]);
    let events = page["items"].as_array().unwrap();
    assert!(events.iter().all(|event| event["type"] == "unreadable"), "{page}");
    assert!(events[0].to_string().contains("broken 1"), "{}", events[0]);
}

#[test]
fn the_kind_and_the_home_directory_are_the_callers() {
    let home = Home::new();
    daycare(&home);
    std::fs::rename(home.work().join("daycare"), home.path().join("home/.daycare")).unwrap();
    let report = home.json(&["import", "daycare", "--kind", "keeper@3"]);
    assert_eq!(counts(&report), [2, 2, 0, 0, 0]);
    let made = home.json(&["agent", "show", "first"]);
    assert_eq!(made["kind"], json!({ "type": "keeper", "version": "3" }));
    home.refused(&["import", "daycare", "--kind", "a b"], 2);
}

#[test]
fn an_agent_that_cannot_be_taken_is_named_and_the_others_are_taken() {
    let home = Home::new();
    daycare(&home);
    let agents = home.work().join("daycare/agents");
    std::os::unix::fs::symlink("first", agents.join("link")).unwrap();
    let broken = agents.join(std::ffi::OsStr::from_bytes(b"broken\xff"));
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("descriptor.json"), "{}").unwrap();
    let output = home.run(&IMPORT);
    let (code, text) = shape(&output);
    assert_eq!(code, Some(1));
    assert!(text.contains("agents:        2 imported, 1 skipped, 1 failed\n"), "{text}");
    assert!(text.contains("link: skipped: is a symbolic link and not followed\n"), "{text}");
    assert_eq!(
        errors(&output),
        "error: 1 of 4 agents could not be taken\n\
         hint: the report says why; the next import takes what can be read then\n"
    );
    std::fs::remove_dir_all(broken).unwrap();
    let output = home.ah(&IMPORT).arg("--json").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A link is left alone on purpose, which is no failure.
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(counts(&report), [3, 0, 0, 2, 1]);
}

#[test]
fn what_is_no_daycare_is_refused_with_the_next_command() {
    let home = Home::new();
    let hint = "name what is there: `ah import claude-code PATH`, `ah import codex PATH`, \
        `ah import gemini PATH`, `ah import opencode PATH`, `ah import goose PATH`, \
        `ah import daycare DIR`, `ah import daycare-db FILE`, `ah import coordinator FILE` or `ah import hyperhive FILE…`";
    let missing = "No such file or directory (os error 2)";
    assert_eq!(
        home.refused(&["import", "daycare"], 1),
        format!("error: cannot read DIR/home/.daycare: {missing}\nhint: {hint}\n")
    );
    assert_eq!(
        home.refused(&["import", "daycare", "none"], 1),
        format!("error: cannot read none: {missing}\nhint: {hint}\n")
    );
    std::fs::write(home.work().join("file"), "x").unwrap();
    assert_eq!(
        home.refused(&["import", "daycare", "file"], 2),
        "error: file is not a directory\nhint: a Daycare with a database: `ah import daycare-db FILE`\n"
    );
    std::fs::create_dir(home.work().join("empty")).unwrap();
    let said = home.refused(&["import", "daycare", "empty"], 2);
    assert!(said.starts_with("error: empty holds no agents"), "{said}");
}

const DATABASE: &str = r#"
    CREATE TABLE agents (id TEXT PRIMARY KEY, type TEXT NOT NULL, descriptor TEXT NOT NULL,
        active_session_id TEXT, permissions TEXT NOT NULL, tokens TEXT,
        stats TEXT NOT NULL DEFAULT '{}', lifecycle TEXT NOT NULL DEFAULT 'active',
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, inference_session_id TEXT,
        created_at INTEGER NOT NULL, reset_message TEXT);
    CREATE TABLE session_history (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
        type TEXT NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL);
    INSERT INTO agents VALUES ('first', 'system', '{"type":"system","tag":"sys"}', 's2',
        '{"workspaceDir":"/srv"}', NULL, '{}', 'active', 100, 300);
    INSERT INTO sessions VALUES ('s1', 'first', NULL, 100, NULL),
        ('s2', 'first', 'i2', 200, 'begin again');
    INSERT INTO session_history (session_id, type, at, data) VALUES
        ('s1', 'user_message', 101, '{"text":"hello","files":[]}'),
        ('s2', 'user_message', 201, '{"text":"more","files":[]}'),
        ('s2', 'note', 202, 'broken');
"#;

const IMPORT_DB: [&str; 3] = ["import", "daycare-db", "daycare.db"];

#[test]
fn a_database_comes_in_once_and_unread_rows_are_kept() {
    let home = Home::new();
    let path = home.work().join("daycare.db");
    connect(&path).execute_batch(DATABASE).unwrap();
    let before = std::fs::read(&path).unwrap();
    let dry = home.json(&[&IMPORT_DB[..], &["--dry-run"]].concat());
    assert_eq!(counts(&dry), [1, 1, 0, 0, 0]);
    assert_eq!(home.json(&["agent", "list"])["items"], json!([]));
    let report = home.json(&IMPORT_DB);
    assert_eq!([&report["agents"], &report["records"]], [&dry["agents"], &dry["records"]]);
    assert_eq!([&report["sessions"], &report["records"]["keptRaw"]], [2, 1]);
    let name = report["details"][0]["name"].as_str().unwrap();
    let context = home.json(&["agent", "context", name]);
    let said: Vec<_> = context["messages"].as_array().unwrap().iter().collect();
    let said: Vec<_> = said.iter().map(|message| &message["content"][0]["text"]).collect();
    assert_eq!(said, ["begin again", "more"]);
    let again = home.human(&IMPORT_DB);
    assert!(again.contains("agents:        1 unchanged\n"), "{again}");
    assert!(again.contains("kept raw: "), "{again}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "nothing of theirs changes");
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn what_is_no_daycare_database_is_refused_with_the_next_command() {
    let home = Home::new();
    let said = home.refused(&IMPORT_DB, 1);
    assert!(said.starts_with("error: cannot read daycare.db: No such file"), "{said}");
    std::fs::write(home.work().join("daycare.db"), "text").unwrap();
    let said = home.refused(&IMPORT_DB, 2);
    assert!(said.starts_with("error: daycare.db is not a database of Daycare: "), "{said}");
    assert!(
        said.ends_with("hint: a Daycare without a database: `ah import daycare DIR`\n"),
        "{said}"
    );
    home.refused(&["import", "daycare-db"], 2);
}

#[test]
fn an_import_shows_its_progress_to_nobody_but_people() {
    let home = Home::new();
    daycare(&home);
    let shown = home.on_terminal("import daycare daycare", &[], "");
    assert!(shown.contains("agents found:  2"), "{shown:?}");
    let quiet = home.ah(&[&IMPORT[..], &["--json"]].concat()).output().unwrap();
    assert_eq!(errors(&quiet), "");
}

/// A database of the Agent Coordinator with a session at work, its child and a run.
fn coordinator(home: &Home) {
    let connection = connect(&home.work().join("observability.db"));
    let statements = r#"
        CREATE TABLE sessions (session_id TEXT PRIMARY KEY, status TEXT NOT NULL, created_at TEXT NOT NULL,
          project_dir TEXT, agent_name TEXT, parent_session_id TEXT);
        CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
          event_type TEXT NOT NULL, timestamp TEXT NOT NULL, role TEXT, content TEXT);
        CREATE TABLE runs (run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL,
          parameters TEXT NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL);
        INSERT INTO sessions VALUES
          ('ses_000000000002', 'finished', '2026-01-06T10:00:01.000000+00:00', '/srv', 'coder', 'ses_000000000001'),
          ('ses_000000000001', 'running', '2026-01-06T10:00:00.000000+00:00', '/srv', NULL, NULL);
        INSERT INTO events (session_id, event_type, timestamp, role, content) VALUES
          ('ses_000000000001', 'message', '2026-01-06T10:00:02.000000+00:00', 'user', '[{"type":"text","text":"hello"}]'),
          ('ses_000000000001', 'message', '2026-01-06T10:00:01.000000+00:00', 'assistant', '[torn');
        INSERT INTO runs VALUES ('run_000000000001', 'ses_000000000001', 'start_session',
          '{"prompt":"hello"}', 'running', '2026-01-06T10:00:00.000000+00:00');"#;
    connection.execute_batch(statements).unwrap();
    connection.close().unwrap();
}

const COORDINATOR: [&str; 3] = ["import", "coordinator", "observability.db"];

#[test]
fn sessions_of_the_agent_coordinator_come_in_with_events_and_runs() {
    let home = Home::new();
    coordinator(&home);
    let mut dry = home.json(&[&COORDINATOR[..], &["--dry-run"]].concat());
    assert_eq!(home.json(&["session", "list"])["items"], json!([]));
    let report = home.json(&COORDINATOR);
    dry["dryRun"] = json!(false);
    assert_eq!(dry, report);
    assert_eq!(report["source"], "agent-coordinator");
    assert_eq!([&report["sessions"]["imported"], &report["runs"]["imported"]], [2, 1]);
    assert_eq!([&report["records"]["imported"], &report["records"]["keptRaw"]], [2, 1]);
    let session = home.json(&["session", "show", "ses_000000000001"]);
    assert_eq!([&session["status"], &session["projectDir"]], ["failed", "/srv"]);
    assert_eq!(session["exit"]["reason"], "imported while running");
    assert_eq!(session["lastActivityAt"], "2026-01-06T10:00:02.000Z");
    let child = home.json(&["session", "show", "ses_000000000002"]);
    assert_eq!(child["parentSessionId"], "ses_000000000001");
    let again = home.json(&COORDINATOR);
    assert_eq!([&again["sessions"]["unchanged"], &again["records"]["present"]], [2, 2]);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn the_report_of_the_agent_coordinators_sessions_is_for_people_too() {
    let home = Home::new();
    coordinator(&home);
    let text = home.human(&COORDINATOR);
    let expected = "source:         agent-coordinator\n\
                    sessions found: 2\n\
                    sessions:       2 imported\n\
                    new runs:       1\n\
                    new records:    2\n\
                    other records:  1 kept raw\n\n\
                    ses_000000000001: imported: 2 records, 1 run, 1 kept raw\n  \
                      sessions line 2: status: \"running\": failed here\n  \
                      runs line 1: status: \"running\": failed here\n  \
                      events line 2: kept raw: content: is not JSON: expected ident at line 1 column 3\n\
                    ses_000000000002: imported: 0 records, 0 runs\n";
    assert_eq!(text, expected);
}

#[test]
fn a_file_that_is_not_the_agent_coordinators_is_named_with_what_was_expected() {
    let home = Home::new();
    std::fs::write(home.work().join("observability.db"), "").unwrap();
    assert_eq!(
        home.refused(&COORDINATOR, 2),
        "error: observability.db is not a database of the Agent Coordinator: it has no table sessions; \
         `sessions` and `events` are expected, as in its `observability.db`\n\
         hint: its file is `.agent-orchestrator/observability.db` as a rule\n"
    );
}

/// The same with so many sessions, and fifty events of each, written by turns.
fn large_coordinator(home: &Home, sessions: u32) {
    coordinator(home);
    let statements = format!(
        "DELETE FROM sessions; DELETE FROM events; DELETE FROM runs;
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {sessions} - 1)
        INSERT INTO sessions (session_id, status, created_at)
          SELECT printf('ses_%012x', i), 'finished', '2026-01-06T10:00:00.000000+00:00' FROM n;
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50 * {sessions} - 1)
        INSERT INTO events (session_id, event_type, timestamp, content)
          SELECT printf('ses_%012x', i % {sessions}), 'message',
            '2026-01-06T10:00:01.000000+00:00', json_array(i) FROM n;"
    );
    connect(&home.work().join("observability.db")).execute_batch(&statements).unwrap();
}

/// What was said in the session of that number, in its order.
fn said(home: &Home, number: u32) -> Vec<Option<u64>> {
    let page = home.json(&["session", "events", &format!("ses_{number:012x}"), "--limit", "1000"]);
    let events = page["items"].as_array().unwrap();
    events.iter().map(|event| event["data"]["content"][0].as_u64()).collect()
}

#[test]
fn three_hundred_sessions_of_fifty_events_come_once() {
    let home = Home::new();
    large_coordinator(&home, 300);
    let report = home.json(&COORDINATOR);
    assert_eq!([&report["sessions"]["imported"], &report["records"]["imported"]], [300, 15_000]);
    let again = home.json(&COORDINATOR);
    assert_eq!([&again["sessions"]["unchanged"], &again["records"]["present"]], [300, 15_000]);
    let expected: Vec<_> = (0..50).map(|number| Some(7 + 300 * number)).collect();
    assert_eq!(said(&home, 7), expected);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn an_import_that_is_killed_at_any_moment_is_completed_by_the_next() {
    let home = Home::new();
    large_coordinator(&home, 60);
    for killed in 1..=12 {
        let mut import = home.spawn(&COORDINATOR);
        // Wherever it is by then, what follows must hold.
        std::thread::sleep(std::time::Duration::from_millis(15 * killed));
        import.kill().unwrap();
        import.wait().unwrap();
    }
    let report = home.json(&COORDINATOR);
    assert_eq!([&report["sessions"]["found"], &report["sessions"]["failed"]], [60, 0]);
    let again = home.json(&COORDINATOR);
    assert_eq!([&again["sessions"]["unchanged"], &again["records"]["present"]], [60, 3_000]);
    for number in 0..60 {
        let expected: Vec<_> = (0..50).map(|turn| Some(u64::from(number) + 60 * turn)).collect();
        assert_eq!(said(&home, number), expected);
    }
    let list = home.json(&["session", "list", "--limit", "1000"]);
    let whole = |session: &Value| {
        session["labels"] == json!({}) && session["lastActivityAt"] == "2026-01-06T10:00:01.000Z"
    };
    assert!(list["items"].as_array().unwrap().iter().all(whole), "{list}");
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

const BROKER: &str = "
CREATE TABLE messages (id INTEGER PRIMARY KEY, sender, recipient, body, sent_at, delivered_at);
CREATE TABLE approvals (id INTEGER PRIMARY KEY, agent, kind, commit_ref, requested_at, status,
    resolved_at, note);
CREATE TABLE operator_questions (id INTEGER PRIMARY KEY, asker, question, options_json, multi,
    asked_at, answered_at, answer);
INSERT INTO messages VALUES (1, 'operator', 'manager', 'begin', 1777600000, 1777600001),
    (2, 'manager', 'alice', 'build it', 1777600002, NULL), (3, 'alice', 'manager', '', 5, NULL);
INSERT INTO approvals VALUES (1, 'alice', 'spawn', '', 1777600003, 'approved', 1777600004, NULL);
INSERT INTO operator_questions VALUES (1, 'alice', 'why?', '[]', 0, 1777600005, 1777600006, '[expired]');
";

const EVENTS: &str = "
CREATE TABLE events (id INTEGER PRIMARY KEY, ts, kind, payload_json);
INSERT INTO events VALUES (1, 1777600000, 'turn_start', '{}'), (2, 1777600001, 'turn_end', '{}');
";

#[test]
fn a_hyperhive_comes_in_with_its_mail_decisions_and_live_events() {
    let home = Home::new();
    connect(&home.work().join("broker.sqlite")).execute_batch(BROKER).unwrap();
    let state = home.work().join("agents/alice/state");
    std::fs::create_dir_all(&state).unwrap();
    connect(&state.join("hyperhive-events.sqlite")).execute_batch(EVENTS).unwrap();
    let files = ["broker.sqlite", "agents/alice/state/hyperhive-events.sqlite"];
    let import = [&["import", "hyperhive"][..], &files].concat();
    let said = home.json(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(home.json(&["agent", "list"])["items"], json!([]));
    let report = home.json(&import);
    assert_eq!([&said["messages"], &said["records"]], [&report["messages"], &report["records"]]);
    let rows = |name: &str| [&report[name]["imported"], &report[name]["keptRaw"]];
    assert_eq!(rows("messages"), [2, 1]);
    assert_eq!([rows("approvals"), rows("questions")], [[1, 0], [1, 0]]);
    assert_eq!(home.json(&["agent", "show", "manager"])["protected"], true);
    let mail = home.json(&["message", "inbox", "alice"]);
    assert_eq!(mail["items"][0]["body"], "build it");
    assert_eq!(home.json(&["question", "list"])["items"][0]["outcome"], "expired");
    let live = home.json(&["agent", "history", "alice"]);
    let live: Vec<_> = live["items"].as_array().unwrap().iter().map(|e| &e["type"]).collect();
    assert_eq!(live, ["live.turn_start", "live.turn_end"]);
    let again = home.json(&import);
    assert_eq!([&again["messages"]["imported"], &again["messages"]["present"]], [0, 2]);
    assert_eq!([&again["records"]["imported"], &again["records"]["present"]], [0, 3]);
    let refused = home.run(&["import", "hyperhive", "no-such-file"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("ah import hyperhive FILE"));
}
