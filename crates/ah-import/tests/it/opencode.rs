//! opencode's database, with the events and rows that it wrote, and what can happen to it.

use std::path::PathBuf;

use ah_import::TranscriptOptions;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{events, store};
use crate::transcript::{
    Tool, Transcripts, kept, kinds, log, options, session, sessions, tokens, told,
};

const MAIN: &str = "ses_e21f96a98ffeMXbMIiodgExOVs";

const TABLES: &str = "
CREATE TABLE session (
    id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, directory TEXT NOT NULL,
    title TEXT NOT NULL, version TEXT NOT NULL, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL
);
CREATE TABLE message (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL, data TEXT NOT NULL
);
CREATE TABLE part (
    id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL,
    time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL
);
";

const EVENT_TABLES: &str = "
CREATE TABLE event_sequence (aggregate_id TEXT NOT NULL PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE event (
    id TEXT PRIMARY KEY, aggregate_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL,
    data TEXT NOT NULL
);
";

fn fixture(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/opencode");
    std::fs::read_to_string(root.join(name)).unwrap()
}

fn fixture_events() -> Vec<Value> {
    fixture("events.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A directory with a database, which stays open as that of a running program does.
struct Opencode {
    transcripts: Transcripts,
    database: Connection,
}

impl Opencode {
    #[expect(clippy::disallowed_methods, reason = "stands for opencode")]
    fn new(tables: &[&str]) -> Self {
        let transcripts = Transcripts::new(Tool::Opencode);
        let database = Connection::open(transcripts.path().join("opencode.db")).unwrap();
        database.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        database.execute_batch(&tables.concat()).unwrap();
        Self { transcripts, database }
    }

    fn session(&self, id: &str, parent: Option<&str>, title: &str, updated: i64) {
        let sql =
            "INSERT OR REPLACE INTO session VALUES (?1, 'global', ?2, '/home/dev/project', ?3,
            '1.18.33', 1794726335848, ?4)";
        self.database.execute(sql, (id, parent, title, updated)).unwrap();
    }

    fn event(&self, event: &Value) {
        let (id, of) = (event["id"].as_str().unwrap(), event["aggregate_id"].as_str().unwrap());
        let (seq, kind) = (event["seq"].as_i64().unwrap(), event["type"].as_str().unwrap());
        let data = event["data"].to_string();
        let sql = "INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5)";
        self.database.execute(sql, (id, of, seq, kind, data)).unwrap();
        let sql = "INSERT OR REPLACE INTO event_sequence VALUES (?1, ?2)";
        self.database.execute(sql, (of, seq)).unwrap();
    }

    /// The messages and parts of the export as rows.
    fn rows(&self) {
        let export: Value = serde_json::from_str(&fixture("export.json")).unwrap();
        for message in export["messages"].as_array().unwrap() {
            let info = &message["info"];
            let (id, time) = (info["id"].as_str().unwrap(), info["time"]["created"].as_i64());
            let sql = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
            self.database.execute(sql, (id, MAIN, time, info.to_string())).unwrap();
            for part in message["parts"].as_array().unwrap() {
                let sql = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
                let values = (part["id"].as_str().unwrap(), id, MAIN, time, part.to_string());
                self.database.execute(sql, values).unwrap();
            }
        }
    }

    fn whole() -> Self {
        let opencode = Self::new(&[TABLES, EVENT_TABLES]);
        opencode.session(MAIN, None, "scripted title", 1_794_726_343_685);
        for event in fixture_events() {
            opencode.event(&event);
        }
        opencode.rows();
        opencode
    }
}

const TOLD: &str = r#"user: "please\n::say ok\n::tool bash {\"command\":\"echo hi\",\"de
assistant: ok
assistant: bash call_2457da8c00002_0 {"command":"echo hi","description":"[client text]"}
tool call_2457da8c00002_0: hi\n
assistant: probe_echo call_2457da8c00003_0 {"text":"ping"}
tool call_2457da8c00003_0: ping
assistant: bash call_2457da8c00004_0 {"command":"exit 4","description":"[client text]"}
tool call_2457da8c00004_0: (no output)
assistant: all done""#;

#[test]
fn version_1_18_33_is_a_session_with_every_answer_counted_once() {
    let (opencode, store) = (Opencode::whole(), store());
    let report = opencode.transcripts.import(&*store);
    assert_eq!(
        kept(&*store),
        format!(
            r#"{MAIN} opencode@1.18.33 idle "scripted title" in /home/dev/project [model=fake-model] 4060/206/800/0/0 07:05:35..07:05:43"#
        )
    );
    assert_eq!((report.files.read, report.sessions.imported, report.records.kept_raw), (1, 1, 0));
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
}

#[test]
fn every_event_is_kept_as_it_is_and_importing_twice_adds_nothing() {
    let (opencode, store) = (Opencode::whole(), store());
    opencode.transcripts.import(&*store);
    let found = events(&*store, &session(&*store, MAIN)).into_iter();
    let found = found.filter(|event| event.kind != "usage");
    let found: Vec<Value> = found.map(|event| event.data.read().unwrap()).collect();
    assert_eq!(found, fixture_events());
    let before = (kept(&*store), log(&*store));
    let again = opencode.transcripts.import(&*store);
    assert_eq!((again.files.unchanged, again.records.imported), (1, 0));
    assert_eq!((kept(&*store), log(&*store)), before);
}

#[test]
fn events_that_come_one_by_one_are_as_events_that_come_at_once() {
    let whole = store();
    Opencode::whole().transcripts.import(&*whole);
    let (opencode, store) = (Opencode::new(&[TABLES, EVENT_TABLES]), store());
    opencode.session(MAIN, None, "New session - 2026", 1);
    opencode.rows();
    for event in fixture_events() {
        opencode.event(&event);
        opencode.transcripts.import(&*store);
    }
    opencode.session(MAIN, None, "scripted title", 2);
    let touched =
        json!({"id": "evt_z", "aggregate_id": MAIN, "seq": 50, "type": "x.1", "data": {}});
    opencode.event(&touched);
    opencode.transcripts.import(&*store);
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
    assert_eq!(session(&*store, MAIN).usage, session(&*whole, MAIN).usage);
    assert_eq!(session(&*store, MAIN).title.as_deref(), Some("scripted title"));
}

#[test]
fn a_database_without_events_is_read_from_its_rows() {
    let (opencode, store) = (Opencode::new(&[TABLES]), store());
    opencode.session(MAIN, None, "scripted title", 1_794_726_343_685);
    opencode.rows();
    opencode.transcripts.import(&*store);
    let found = session(&*store, MAIN);
    assert_eq!(told(&*store, &found), TOLD);
    assert_eq!(tokens(found.usage), "4060/206/800/0/0");
    let again = opencode.transcripts.import(&*store);
    assert_eq!((again.files.unchanged, again.records.imported), (1, 0));
}

#[test]
fn a_session_that_is_older_than_its_events_is_whole_and_told_once() {
    let (opencode, store) = (Opencode::new(&[TABLES, EVENT_TABLES]), store());
    opencode.session(MAIN, None, "scripted title", 1_794_726_343_685);
    opencode.rows();
    // Its last part was told when there were events.
    let mut last = fixture_events().remove(45);
    last["seq"] = json!(0);
    opencode.event(&last);
    opencode.transcripts.import(&*store);
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
    assert_eq!(tokens(session(&*store, MAIN).usage), "4060/206/800/0/0");
}

#[test]
fn a_sub_agent_is_a_child_even_when_it_comes_before_its_parent() {
    let (opencode, store) = (Opencode::new(&[TABLES, EVENT_TABLES]), store());
    opencode.session("ses_child", Some("ses_main"), "look (@general subagent)", 5);
    opencode.session("ses_main", None, "main", 5);
    for (id, of) in [("e1", "ses_child"), ("e2", "ses_main")] {
        let created = json!({
            "id": id, "aggregate_id": of, "seq": 0, "type": "session.created.1", "data": {},
        });
        opencode.event(&created);
    }
    opencode.transcripts.import(&*store);
    let (main, child) = (session(&*store, "ses_main"), session(&*store, "ses_child"));
    assert_eq!(child.parent_session_id, Some(main.id));
}

#[test]
fn a_place_that_was_given_again_is_noticed() {
    let (opencode, store) = (Opencode::new(&[TABLES, EVENT_TABLES]), store());
    opencode.session("ses_a", None, "a", 5);
    let event = |id: &str, of: &str| json!({"id": id, "aggregate_id": of, "seq": 0, "type": "session.created.1", "data": {}});
    opencode.event(&event("e1", "ses_a"));
    opencode.transcripts.import(&*store);
    opencode.database.execute_batch("DELETE FROM event; DELETE FROM event_sequence").unwrap();
    opencode.session("ses_b", None, "b", 6);
    opencode.event(&event("e2", "ses_b"));
    opencode.transcripts.import(&*store);
    assert_eq!(kinds(&*store, &session(&*store, "ses_b")), "session_start");
}

#[test]
fn sessions_that_were_too_old_come_with_a_later_import() {
    let (opencode, store) = (Opencode::whole(), store());
    let since = Some("2027-01-01T00:00:00Z".parse().unwrap());
    let recent = TranscriptOptions { since, ..options() };
    opencode.transcripts.import_with(&*store, &recent).unwrap();
    assert_eq!(sessions(&*store), []);
    opencode.transcripts.dry_run(&*store);
    assert_eq!(sessions(&*store), []);
    opencode.transcripts.import(&*store);
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
}

#[test]
fn a_database_that_is_being_written_is_read_and_stays_as_it_is() {
    let (opencode, store) = (Opencode::whole(), store());
    opencode.database.execute_batch("BEGIN IMMEDIATE; DELETE FROM part").unwrap();
    let file = opencode.transcripts.path().join("opencode.db");
    let log_file = opencode.transcripts.path().join("opencode.db-wal");
    let bytes = || (std::fs::read(&file).unwrap(), std::fs::read(&log_file).unwrap());
    let before = bytes();
    opencode.transcripts.import(&*store);
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
    assert_eq!(bytes(), before);
    opencode.database.execute_batch("ROLLBACK").unwrap();
}

#[test]
fn what_is_no_json_is_kept_and_costs_nothing_else() {
    let (opencode, store) = (Opencode::whole(), store());
    opencode.database.execute("UPDATE event SET data = '{torn' WHERE seq = 20", ()).unwrap();
    opencode.transcripts.import(&*store);
    let found = events(&*store, &session(&*store, MAIN));
    let torn = found.iter().find(|event| event.dedup_key.as_deref() == Some("seq/20")).unwrap();
    assert_eq!(torn.data.read::<Value>().unwrap()["data"], json!("{torn"));
}
