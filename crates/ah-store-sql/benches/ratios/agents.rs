//! What a start costs: 1,000 agents with 1,000 records each, and one with a long session.

use std::path::Path;
use std::time::{Duration, Instant};

use ah_model::{NewAgent, NewEvent, RawJson};
use ah_store::{Agents, ContextLimit, block_on, load_agents, restore_agent, session_context};
use ah_store_sql::SqlStore;
use rusqlite::Connection;

use super::figure::{Figure, Goal, alternate, median};
use super::given::{long_id, new_session, open};

const AGENTS: usize = 1_000;
const RECORDS: usize = 1_000;
const LONG: usize = 100_000;
const ROUNDS: usize = 11;

pub(crate) fn run() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("agents.db");
    eprintln!("filling a database with {AGENTS} agents of {RECORDS} records");
    fill(&path);
    let restores = restore_all(&path);
    let mut figures = vec![start(&path)];
    figures.extend(restores);
    let same_tail = ContextLimit::of_records(RECORDS).unwrap();
    figures.push(restore_long(&path, same_tail, "the same tail"));
    let default = ContextLimit::default();
    figures.push(restore_long(&path, default, "the window nobody asks for, twice its records"));
    figures
}

fn fill(path: &Path) {
    let store = open(path);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = store.clone();
            scope.spawn(move || {
                for number in (thread..AGENTS).step_by(8) {
                    create(&store, &format!("agent-{number:04}"), number, RECORDS);
                }
            });
        }
    });
    create(&store, "short", AGENTS, RECORDS);
    create(&store, "long", AGENTS + 1, LONG);
}

fn create(store: &SqlStore, name: &str, number: usize, records: usize) {
    let id = block_on(store.create_agent(NewAgent::new(name, new_session(&long_id(number)))))
        .unwrap()
        .id;
    let batch: Vec<NewEvent> = (0..RECORDS).map(record).collect();
    for _ in 0..records / RECORDS {
        block_on(store.append_to_agent(id.clone(), None, batch.clone())).unwrap();
    }
}

/// A turn of four records: asked, called, answered, told; about 300 bytes each.
fn record(number: usize) -> NewEvent {
    let (call, text) = (number / 4, "x".repeat(220));
    let (kind, data) = match number % 4 {
        0 => ("user_message", format!(r#"{{"text":"{text}","files":[]}}"#)),
        1 => (
            "assistant_message",
            format!(
                r#"{{"text":"{text}","toolCalls":[{{"id":"c{call}","name":"read","arguments":{{"path":"a"}}}}]}}"#
            ),
        ),
        2 => (
            "tool_result",
            format!(
                r#"{{"toolCallId":"c{call}","toolName":"read","content":[{{"type":"text","text":"{text}"}}]}}"#
            ),
        ),
        _ => ("assistant_message", format!(r#"{{"text":"{text}"}}"#)),
    };
    let data = RawJson::parse("data", &data, 1_000).unwrap();
    NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: None }
}

#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn raw(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA cache_size = -8192").unwrap();
    connection
}

fn micros(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6
}

/// Opening and listing every agent that takes part, ready to be restored.
fn start(path: &Path) -> Figure {
    let ours = || {
        micros(|| {
            let roster = block_on(load_agents(&open(path))).unwrap();
            assert_eq!(roster.active.len(), AGENTS + 2);
        })
    };
    let raw = || micros(|| assert_eq!(rows(&raw(path), AGENT_ROWS, &[]), AGENTS + 2));
    let (ours, raw) = alternate(ROUNDS, ours, raw);
    Figure {
        name: "start: 1,000 agents".to_owned(),
        unit: "µs",
        ours,
        raw,
        goal: Goal::AtMost(2.0),
        note: "raw: open, and select the same rows".to_owned(),
    }
}

const AGENT_ROWS: &str = "SELECT i.*, k.name, k.version FROM agent_instances i \
    JOIN agents k ON k.id = i.kind_id WHERE i.lifecycle IN ('active', 'sleeping') ORDER BY i.name";
const TAIL_ROWS: &str = "SELECT seq, ts, type, data, dedup_key FROM events \
    WHERE session_id = ?1 ORDER BY seq DESC LIMIT 2000";

/// Reads every column of every row, as a program that wants them does.
fn rows(connection: &Connection, sql: &str, params: &[&str]) -> usize {
    select(connection, sql, params).len()
}

fn select(connection: &Connection, sql: &str, params: &[&str]) -> Vec<Vec<rusqlite::types::Value>> {
    let mut statement = connection.prepare_cached(sql).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(params)).unwrap();
    let mut kept: Vec<Vec<rusqlite::types::Value>> = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        kept.push((0..columns).map(|column| row.get(column).unwrap()).collect());
    }
    kept
}

/// Every agent's context, one after another, beside the rows alone and beside the rows with their
/// payloads parsed: a context is made of what is in them.
fn restore_all(path: &Path) -> Vec<Figure> {
    let (store, connection) = (open(path), raw(path));
    let roster = block_on(load_agents(&store)).unwrap();
    let sessions: Vec<_> =
        roster.active.iter().filter_map(|agent| agent.active_session_id.as_ref()).collect();
    let before = resident_kib();
    let mut most = before;
    let (mut ours, mut selected, mut parsed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        ours.push(micros(|| {
            for agent in &roster.active {
                block_on(restore_agent(&store, agent, ContextLimit::default())).unwrap();
                most = most.max(resident_kib());
            }
        }));
        selected.push(micros(|| read_all(&connection, &sessions, Payloads::AsText)));
        parsed.push(micros(|| read_all(&connection, &sessions, Payloads::Parsed)));
    }
    let grown = format!("; resident memory grew by {} MiB", (most - before) / 1_024);
    let ours = median(ours);
    [(selected, "raw: select the same rows"), (parsed, "raw: select and parse the same rows")]
        .map(|(raw, note)| Figure {
            name: "restore: 1,000 agents".to_owned(),
            unit: "ms",
            ours: ours / 1e3,
            raw: median(raw) / 1e3,
            goal: Goal::AtMost(2.0),
            note: format!("{note}{grown}"),
        })
        .into()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Payloads {
    AsText,
    Parsed,
}

fn read_all(connection: &Connection, sessions: &[&ah_model::SessionId], payloads: Payloads) {
    for session in sessions {
        let rows = select(connection, TAIL_ROWS, &[session.as_str()]);
        assert!(rows.len() >= RECORDS);
        if payloads == Payloads::Parsed {
            let parsed: Vec<_> = rows.iter().filter_map(|row| payload(row)).collect();
            assert_eq!(parsed.len(), rows.len());
        }
    }
}

/// The fourth column of a row, as JSON.
fn payload(row: &[rusqlite::types::Value]) -> Option<serde_json::Value> {
    match row.get(3)? {
        rusqlite::types::Value::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Resident memory of this process in KiB; 0 where nobody says.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A session of 100,000 records beside one of 1,000, whose newest records are the same.
fn restore_long(path: &Path, limit: ContextLimit, window: &str) -> Figure {
    let store = open(path);
    let of = |name: &str| {
        let agent = block_on(store.agent_of_name(name.to_owned())).unwrap().unwrap();
        agent.active_session_id.unwrap()
    };
    let (long, short) = (of("long"), of("short"));
    let context = |session: &ah_model::SessionId| {
        let times = (0..5).map(|_| {
            let start = Instant::now();
            let seen = block_on(session_context(&store, session.clone(), limit)).unwrap();
            assert!(seen.records >= RECORDS as u64);
            start.elapsed()
        });
        times.min().unwrap_or(Duration::ZERO).as_secs_f64() * 1e6
    };
    let (ours, raw) = alternate(ROUNDS, || context(&long), || context(&short));
    Figure {
        name: "restore: 100,000 records".to_owned(),
        unit: "µs",
        ours,
        raw,
        goal: Goal::AtMost(3.0),
        note: format!("raw: ours with 1,000 records; {window}"),
    }
}
