//! `ah import daycare` as a whole process, beside the raw insert of the rows it made: one
//! transaction an agent, every column, the same indexes, the same durability.

use std::fs;
use std::path::Path;
use std::time::Instant;

use rusqlite::types::Value;

use super::figure::{Figure, Goal, median};
use super::{ah, open, run};

const AGENTS: usize = 20;
const RECORDS: usize = 5_000;
const ROUNDS: usize = 5;
const COLUMNS: &str = "session_id, seq, ts, type, data, dedup_key";

pub(crate) fn measure() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    (0..AGENTS).for_each(|number| write_agent(&source.join("agents"), number));
    let rate = |milliseconds: f64| (AGENTS * RECORDS) as f64 * 1_000.0 / milliseconds;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let home = directory.path().join(format!("round-{round}"));
        run(ah(&home).args(["db", "stats"]));
        ours.push(rate(run(ah(&home).args(["import", "daycare"]).arg(&source))));
        raw.push(rate(insert_again(&home.join("state.db"))));
        fs::remove_dir_all(&home).unwrap();
    }
    vec![Figure {
        name: "ah import daycare, whole process",
        unit: "records/s",
        ours: median(ours),
        raw: median(raw),
        goal: Goal::AtLeast(0.5),
        note: "raw: the same rows inserted, a transaction an agent".to_owned(),
    }]
}

fn write_agent(agents: &Path, number: usize) {
    let folder = agents.join(format!("agent{number:019}"));
    fs::create_dir_all(&folder).unwrap();
    let descriptor = format!(r#"{{"type":"cron","id":"cron-{number}"}}"#);
    fs::write(folder.join("descriptor.json"), descriptor).unwrap();
    let state = r#"{"permissions":{"workingDir":"/srv/demo","writeDirs":[],"readDirs":[],"network":false,"events":false},"tokens":null,"stats":{},"createdAt":1771200000000,"updatedAt":1771200060000,"state":"active"}"#;
    fs::write(folder.join("state.json"), state).unwrap();
    let mut history = String::from("{\"type\":\"start\",\"at\":1771200000000}\n");
    let text = "x".repeat(200);
    for record in 0..RECORDS {
        let at = 1_771_200_000_001_usize + record;
        history.push_str(&format!(
            "{{\"type\":\"user_message\",\"at\":{at},\"text\":\"{record} {text}\",\"files\":[]}}\n"
        ));
    }
    fs::write(folder.join("history.jsonl"), history).unwrap();
}

/// Takes the events out of a database and inserts them again; milliseconds of the inserting.
fn insert_again(path: &Path) -> f64 {
    let connection = open(path);
    let rows = {
        let sql = format!("SELECT {COLUMNS} FROM events ORDER BY id");
        let mut statement = connection.prepare(&sql).unwrap();
        let read = |row: &rusqlite::Row<'_>| (0..6).map(|column| row.get(column)).collect();
        let rows: Result<Vec<Vec<Value>>, _> = statement.query_map([], read).unwrap().collect();
        rows.unwrap()
    };
    assert_eq!(rows.len(), AGENTS * RECORDS);
    connection.execute_batch("DELETE FROM events; VACUUM").unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous = FULL").unwrap();
    connection.execute_batch("PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192").unwrap();
    let start = Instant::now();
    for batch in rows.chunks(RECORDS) {
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let sql = format!("INSERT INTO events ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)");
        let mut statement = connection.prepare_cached(&sql).unwrap();
        for row in batch {
            statement.execute(rusqlite::params_from_iter(row)).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    }
    start.elapsed().as_secs_f64() * 1_000.0
}
