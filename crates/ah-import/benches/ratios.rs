//! What an import of a transcript costs over the bare engine: the same payloads under the same keys,
//! as durable, in the same run.
//!
//! A figure is never asserted here: `cargo xtask bench` prints it beside its goal. `--large` takes a
//! transcript of a gigabyte, once, to see that it costs no more memory.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ah_import::{TranscriptOptions, import_claude_code};
use ah_model::{NewRepo, NewSession, Vcs};
use ah_store::{Capabilities, Ids, Sessions, SystemClock, SystemIds, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use rusqlite::Connection;

const SESSION: &str = "10000000-0000-4000-8000-000000000001";
const MEGABYTE: f64 = 1024.0 * 1024.0;
const FILE_BYTES: usize = 200 * 1024 * 1024;
const LARGE_BYTES: usize = 1024 * 1024 * 1024;
/// Events of a transaction, as an import has.
const BATCH: usize = 5_000;
const ROUNDS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    let large = arguments.iter().any(|argument| argument == "--large");
    match wanted("import claude-code") {
        true if large => large_transcript(json),
        true => transcript(json),
        false => {}
    }
}

fn large_transcript(json: bool) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("{SESSION}.jsonl"));
    write(&file, LARGE_BYTES);
    let megabytes = std::fs::metadata(&file).unwrap().len() as f64 / MEGABYTE;
    let rate = megabytes / seconds(|| import(&directory.path().join("ours.db"), &file));
    let peak = peak_megabytes();
    let name = "import claude-code, 1 GB";
    print(json, name, "MB/s", rate, None, "at least 50", rate >= 50.0);
    let name = "import claude-code, 1 GB, peak memory";
    print(json, name, "MB", peak, None, "at most 200", peak <= 200.0);
}

fn transcript(json: bool) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("{SESSION}.jsonl"));
    write(&file, FILE_BYTES);
    let bytes = std::fs::metadata(&file).unwrap().len() as f64 / MEGABYTE;
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    let mut peak = 0.0;
    for round in 0..ROUNDS {
        let database = directory.path().join(format!("ours-{round}.db"));
        ours.push(bytes / seconds(|| import(&database, &file)));
        if round == 0 {
            peak = peak_megabytes();
        }
        let database = directory.path().join(format!("raw-{round}.db"));
        prepare(&database);
        raw.push(bytes / seconds(|| insert(&database, &file)));
    }
    let again = directory.path().join("ours-0.db");
    let idle = seconds(|| import(&again, &file)) * 1_000.0;
    let (ours, raw) = (median(ours), median(raw));
    print(
        json,
        "import claude-code, 200 MB",
        "MB/s",
        ours,
        Some(raw),
        "at least 50 MB/s or 0.5",
        ours >= 50.0 || ours / raw >= 0.5,
    );
    print(json, "import claude-code, peak memory", "MB", peak, None, "at most 200", peak <= 200.0);
    print(json, "import claude-code, nothing new", "ms", idle, None, "at most 100", idle <= 100.0);
}

fn print(json: bool, name: &str, unit: &str, ours: f64, raw: Option<f64>, goal: &str, met: bool) {
    let ratio = raw.map(|raw| ours / raw);
    if json {
        let document = serde_json::json!({
            "name": name, "unit": unit, "ours": ours, "raw": raw, "ratio": ratio, "goal": goal,
            "met": met,
        });
        println!("{document}");
        return;
    }
    let raw = raw.map(|raw| format!(", raw {raw:.1} {unit}, ratio {:.2}", ours / raw));
    let missed = if met { "" } else { "  MISSED" };
    println!("{name:<44} ours {ours:>9.1} {unit}{} (goal {goal}){missed}", raw.unwrap_or_default());
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The most memory that this process had, where the system says it.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1024.0
}

/// A conversation of turns with a prompt, an answer in two lines, a result and two marks each.
fn write(path: &Path, bytes: usize) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let (mut written, mut turn) = (0, 0_u64);
    let text = "The quick brown fox jumps over the \\\"lazy\\\" dog.\\n".repeat(60);
    let common = format!(
        r#""sessionId":"{SESSION}","isSidechain":false,"cwd":"/srv/p","version":"2.1.325","gitBranch":"main","timestamp":"2026-11-15T07:28:18.000Z""#
    );
    let usage = r#""usage":{"input_tokens":1000,"cache_creation_input_tokens":30,"cache_read_input_tokens":200,"output_tokens":50}"#;
    while written < bytes {
        let uuid = |part: u64| format!("{turn:08x}-0000-4000-8000-{part:012x}");
        let message = format!(
            r#""id":"msg_{turn}","role":"assistant","model":"m","stop_reason":"tool_use",{usage}"#
        );
        let lines = [
            format!(
                r#"{{"type":"user","uuid":"{}",{common},"message":{{"role":"user","content":"prompt {turn}"}}}}"#,
                uuid(1)
            ),
            format!(
                r#"{{"type":"assistant","uuid":"{}",{common},"message":{{{message},"content":[{{"type":"text","text":"{text}"}}]}}}}"#,
                uuid(2)
            ),
            format!(
                r#"{{"type":"assistant","uuid":"{}",{common},"message":{{{message},"content":[{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{{"command":"ls"}}}}]}}}}"#,
                uuid(3)
            ),
            format!(
                r#"{{"type":"last-prompt","lastPrompt":"prompt {turn}","sessionId":"{SESSION}"}}"#
            ),
            format!(
                r#"{{"type":"user","uuid":"{}",{common},"toolUseResult":{{"stdout":"{text}"}},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn}","content":"{text}"}}]}}}}"#,
                uuid(4)
            ),
            format!(r#"{{"type":"atis-latch","atis":"","sessionId":"{SESSION}"}}"#),
        ];
        for line in lines {
            written += line.len() + 1;
            writeln!(out, "{line}").unwrap();
        }
        turn += 1;
    }
    out.flush().unwrap();
}

fn open(path: &Path) -> SqlStore {
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: false };
    let options = SqliteOptions::new(path);
    SqlStore::open_sqlite(options, capabilities, Arc::new(SystemClock), ids).unwrap().0
}

fn plain(dir: &Path) -> NewRepo {
    let root_path = Some(dir.to_string_lossy().into_owned());
    NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None }
}

fn import(database: &Path, file: &Path) {
    let options = TranscriptOptions { dry_run: false, since: None, only: None, repo_of: &plain };
    let report = block_on(import_claude_code(&open(database), file, &options, &mut |_| {}));
    assert_eq!(report.unwrap().files.failed, 0);
}

/// The tables of a store, with the session.
fn prepare(database: &Path) {
    let mut session = NewSession::new(plain(Path::new("/srv/p")), "claude-code".parse().unwrap());
    session.id = Some(SESSION.parse().unwrap());
    block_on(open(database).create_session(session)).unwrap();
}

/// The same lines by hand.
#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn insert(database: &Path, file: &Path) {
    let connection = Connection::open(database).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA cache_size = -8192",
        )
        .unwrap();
    let sql = "INSERT INTO events (session_id, seq, ts, type, data, dedup_key) \
               VALUES (?1, ?2, '2026-11-15T07:28:18.000Z', 'assistant_message', ?3, ?4)";
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    for (number, line) in BufReader::new(File::open(file).unwrap()).lines().enumerate() {
        let key = format!("line/{number:08x}-0000-4000-8000-000000000001");
        let mut statement = connection.prepare_cached(sql).unwrap();
        statement.execute((SESSION, number as i64 + 1, line.unwrap(), key)).unwrap();
        if number % BATCH == BATCH - 1 {
            connection.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
        }
    }
    let advance = "UPDATE sessions SET last_seq = (SELECT max(seq) FROM events)";
    connection.execute_batch(advance).unwrap();
    connection.execute_batch("COMMIT").unwrap();
}
