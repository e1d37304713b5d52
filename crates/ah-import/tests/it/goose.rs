//! goose's database, with the messages that it wrote, and what can happen to it.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{events, store};
use crate::transcript::{
    Tool, Transcripts, kept, kinds, log, name, session, sessions, tokens, told,
};

const MAIN: &str = "20261115_3";

const TABLES: &str = "
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
    user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user',
    working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP,
    accumulated_input_tokens INTEGER, accumulated_output_tokens INTEGER, parent_session_id TEXT
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
    role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
    tokens INTEGER, metadata_json TEXT
);
";

const LEDGER: &str = "
CREATE TABLE usage_ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    created_timestamp INTEGER NOT NULL, model TEXT, input_tokens INTEGER, output_tokens INTEGER,
    cache_read_tokens INTEGER, cache_write_tokens INTEGER, cost REAL,
    is_compaction INTEGER DEFAULT 0
);
";

fn fixture(name: &str) -> Vec<Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures/goose");
    let text = std::fs::read_to_string(root.join(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

struct Goose {
    transcripts: Transcripts,
    database: Connection,
}

impl Goose {
    #[expect(clippy::disallowed_methods, reason = "stands for goose")]
    fn new(tables: &[&str]) -> Self {
        let transcripts = Transcripts::new(Tool::Goose);
        let database = Connection::open(transcripts.path().join("sessions.db")).unwrap();
        database.execute_batch("PRAGMA journal_mode = WAL").unwrap();
        database.execute_batch(&tables.concat()).unwrap();
        Self { transcripts, database }
    }

    fn session(&self, id: &str, parent: Option<&str>, dir: &str) {
        let sql = "INSERT INTO sessions (id, name, working_dir, created_at, updated_at,
            accumulated_input_tokens, accumulated_output_tokens, parent_session_id)
            VALUES (?1, 'Echo and exit', ?2, '2026-11-15 07:12:00', '2026-11-15 07:12:02', 4860,
            206, ?3)";
        self.database.execute(sql, (id, dir, parent)).unwrap();
    }

    fn message(&self, message: &Value) {
        let sql = "INSERT INTO messages (message_id, session_id, role, content_json,
            created_timestamp) VALUES (?1, ?2, ?3, ?4, ?5)";
        let text = |name: &str| message[name].as_str().map(str::to_owned);
        let content = message["content_json"].to_string();
        let values = (text("message_id"), text("session_id"), text("role"), content);
        let (id, session, role, content) = values;
        let time = message["created_timestamp"].as_i64();
        self.database.execute(sql, (id, session, role, content, time)).unwrap();
    }

    fn ledger(&self, row: &Value) {
        let sql = "INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens,
            output_tokens, cache_read_tokens, cost) VALUES (?1, 1794726722, ?2, ?3, ?4, ?5, 0.25)";
        let number = |name: &str| row[name].as_i64();
        let (input, output) = (number("input_tokens"), number("output_tokens"));
        let (session, model) = (row["session_id"].as_str(), row["model"].as_str());
        let values = (session, model, input, output, number("cache_read_tokens"));
        self.database.execute(sql, values).unwrap();
    }

    fn whole() -> Self {
        let goose = Self::new(&[TABLES, LEDGER]);
        goose.session(MAIN, None, "/home/dev/project");
        fixture("messages.jsonl").iter().for_each(|message| goose.message(message));
        fixture("usage_ledger.jsonl").iter().for_each(|row| goose.ledger(row));
        goose
    }
}

const TOLD: &str = r#"user: please\n::tool shell {"command":"echo hi"}\n::tool shell {"c
assistant: shell call_2457da8c00031_0 {"command":"echo hi"}
tool call_2457da8c00031_0: hi
assistant: shell call_2457da8c00032_0 {"command":"exit 3"}
tool call_2457da8c00032_0 failed: (no output)\n\nCommand exited with code 3
assistant: probe__echo call_2457da8c00033_0 {"text":"ping"}
tool call_2457da8c00033_0: ping
assistant: all done"#;

#[test]
fn version_1_52_0_is_a_session_with_every_call_counted_once() {
    let (goose, store) = (Goose::whole(), store());
    let report = goose.transcripts.import(&*store);
    assert_eq!(
        kept(&*store),
        r#"20261115_3 goose@latest idle "Echo and exit" in /home/dev/project [model=fake-model] 4060/206/800/0/0 07:12:00..07:12:02"#
    );
    assert_eq!((report.files.read, report.sessions.imported, report.records.kept_raw), (1, 1, 0));
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
    assert_eq!(
        kinds(&*store, &session(&*store, MAIN)),
        "session_start user_message goose.user assistant_message tool_result assistant_message \
         tool_result assistant_message tool_result assistant_message goose.usage_ledger usage \
         goose.usage_ledger usage goose.usage_ledger usage goose.usage_ledger usage"
    );
    let found = events(&*store, &session(&*store, MAIN));
    let usage = found.iter().find(|event| event.kind == "usage").unwrap();
    assert_eq!(usage.data.read::<Value>().unwrap()["costUsd"], json!(0.25));
}

#[test]
fn importing_twice_adds_nothing_and_rows_that_come_later_are_added() {
    let (goose, store) = (Goose::whole(), store());
    goose.transcripts.import(&*store);
    let before = (kept(&*store), log(&*store));
    let again = goose.transcripts.import(&*store);
    assert_eq!((again.files.unchanged, again.records.imported), (1, 0));
    assert_eq!((kept(&*store), log(&*store)), before);
    let content = json!([{"type": "text", "text": "more"}]);
    goose.message(&json!({
        "message_id": "m9", "session_id": MAIN, "role": "user", "content_json": content,
        "created_timestamp": 1_794_726_730,
    }));
    let report = goose.transcripts.import(&*store);
    assert_eq!(report.records.imported, 1);
    let found = session(&*store, MAIN);
    assert_eq!(told(&*store, &found), format!("{TOLD}\nuser: more"));
    assert_eq!(found.labels.0.get("turn").map(String::as_str), Some("unended"));
    assert_eq!(found.title.as_deref(), Some("Echo and exit"));
}

#[test]
fn messages_that_are_written_again_are_shown_once() {
    let (goose, store) = (Goose::whole(), store());
    goose.transcripts.import(&*store);
    goose.database.execute_batch("DELETE FROM messages").unwrap();
    fixture("messages.jsonl").iter().for_each(|message| goose.message(message));
    goose.transcripts.import(&*store);
    assert_eq!(told(&*store, &session(&*store, MAIN)), TOLD);
}

#[test]
fn a_database_without_a_ledger_counts_its_totals_as_they_grow() {
    let (goose, store) = (Goose::new(&[TABLES]), store());
    goose.session(MAIN, None, "/home/dev/project");
    let messages = fixture("messages.jsonl");
    goose.message(&messages[0]);
    goose.transcripts.import(&*store);
    assert_eq!(tokens(session(&*store, MAIN).usage), "4860/206/0/0/0");
    goose.database.execute("UPDATE sessions SET accumulated_input_tokens = 5000", ()).unwrap();
    goose.message(&messages[8]);
    goose.transcripts.import(&*store);
    assert_eq!(tokens(session(&*store, MAIN).usage), "5000/206/0/0/0");
}

#[test]
fn sessions_of_one_id_of_two_machines_stay_apart() {
    let (one, other, store) = (Goose::whole(), Goose::new(&[TABLES, LEDGER]), store());
    other.session(MAIN, None, "/home/other/project");
    fixture("messages.jsonl").iter().take(1).for_each(|message| other.message(message));
    for goose in [&one, &other, &one, &other] {
        goose.transcripts.import(&*store);
    }
    let found = sessions(&*store);
    assert_eq!(found.len(), 2);
    assert_eq!(name(&found[0]), MAIN);
    assert!(name(&found[1]).starts_with("20261115_3@"));
    assert_eq!(told(&*store, &found[0]), TOLD);
}

#[test]
fn a_sub_agent_is_a_child() {
    let (goose, store) = (Goose::new(&[TABLES, LEDGER]), store());
    goose.session("20261115_5", Some(MAIN), "/p");
    goose.session(MAIN, None, "/p");
    for of in ["20261115_5", MAIN] {
        let content = json!([{"type": "text", "text": of}]);
        goose.message(&json!({
            "session_id": of, "role": "user", "content_json": content, "created_timestamp": 5,
        }));
    }
    goose.transcripts.import(&*store);
    let (main, child) = (session(&*store, MAIN), session(&*store, "20261115_5"));
    assert_eq!(child.parent_session_id, Some(main.id));
}
