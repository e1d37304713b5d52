//! What one `ah session append` costs as a whole process, beside a minimal program that opens the
//! same file, inserts one row durably and closes.
//!
//! The minimal program is this bench itself, which links nothing but SQLite.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rusqlite::Connection;

/// The first argument of the minimal program.
const MINIMAL: &str = "--minimal-append";
/// As long as the ids we mint.
const ID: &str = "019b7ca9-8f2e-7001-a2ee-000000000001";
const ROUNDS: usize = 400;
const GOAL: f64 = 1.5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, path] = arguments.as_slice()
        && first == MINIMAL
    {
        return append_minimally(Path::new(path));
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    if names.is_empty() || names.iter().any(|name| "process".contains(name.as_str())) {
        measure("last connection: the WAL is checkpointed and removed", false, json);
        measure("another process keeps the database open", true, json);
    }
}

#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// Opens, inserts one row durably, closes.
fn append_minimally(path: &Path) {
    let connection = open(path);
    connection.execute_batch("PRAGMA synchronous = FULL").unwrap();
    let sql = "INSERT INTO events (session_id, seq, ts, type, data) \
               SELECT '019b7ca9-8f2e-7001-a2ee-000000000001', last_seq + 1, '2026-01-01T00:00:00.000Z', 'note', '{\"a\":1}' \
               FROM sessions WHERE id = '019b7ca9-8f2e-7001-a2ee-000000000001'";
    let advance = "UPDATE sessions SET last_seq = last_seq + 1 WHERE id = '019b7ca9-8f2e-7001-a2ee-000000000001'";
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {sql}; {advance}; COMMIT")).unwrap();
}

fn measure(name: &str, kept_open: bool, json: bool) {
    let directory = tempfile::tempdir().unwrap();
    let sides = [directory.path().join("ours"), directory.path().join("raw")];
    for home in &sides {
        run(ah(home).args(["session", "create", "--id", ID, "--agent", "codex"]));
    }
    let databases = sides.clone().map(|home| home.join("state.db"));
    let kept = databases.each_ref().map(|path| {
        let connection = open(path);
        // A connection holds the file only once it has read it.
        connection.execute_batch("SELECT count(*) FROM sessions").unwrap();
        connection
    });
    let kept = if kept_open { Some(kept) } else { None };
    let append = ["session", "append", ID, "--type", "note", "--data", "{\"a\":1}"];
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(run(ah(&sides[0]).args(append)));
        let this = std::env::current_exe().unwrap();
        raw.push(run(Command::new(this).arg(MINIMAL).arg(&databases[1])));
    }
    drop(kept);
    print(name, median(ours), median(raw), json);
}

fn ah(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ah"));
    command.env_clear().env("AH_HOME", home).env("HOME", home);
    command.current_dir(home.parent().unwrap());
    command
}

/// Milliseconds from start to end of a process.
fn run(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    start.elapsed().as_secs_f64() * 1_000.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn print(note: &str, ours: f64, raw: f64, json: bool) {
    let ratio = ours / raw;
    let met = ratio <= GOAL;
    if json {
        let document = serde_json::json!({
            "name": "ah session append, whole process", "unit": "ms", "ours": ours, "raw": raw,
            "ratio": ratio, "goal": format!("at most {GOAL}"), "met": met, "note": note,
        });
        println!("{document}");
    } else {
        let missed = if met { "" } else { "  MISSED" };
        println!(
            "ah session append, whole process   ours {ours:.2} ms, raw {raw:.2} ms, \
             ratio {ratio:.2} (goal at most {GOAL}){missed}  {note}"
        );
    }
}
