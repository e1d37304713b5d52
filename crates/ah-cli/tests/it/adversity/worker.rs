//! The test binary as a process of its own: it runs again with one test and a task.
//!
//! For work that takes one process per thousand transactions, where the program takes one each.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::{Appended, KvEntry, SessionId};
use ah_store::{Events, KeyValues, Problem, Sessions, StoreError, block_on};
use ah_store_sql::SqlStore;
use serde::{Deserialize, Serialize};

use super::ledger::{Line, SESSION, open};
#[cfg(target_os = "linux")]
use super::live_events;
use super::random::Random;

const VARIABLE: &str = "ADVERSITY_WORKER";

/// What a worker does. It prints an acknowledgement a line, as the program does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// Reads the session, then appends one line, `count` times.
    ReadThenWrite { writer: u64, count: u64 },
    /// Appends lines alone and in batches of many sizes, among writes that fill the WAL.
    Fill { writer: u64, count: u64, seed: u64 },
    /// Appends until the disk is full, removes the flag that makes it full, and appends again.
    OutlastFullDisk { writer: u64, flag: PathBuf },
    /// Tells live events while there is space, while the flag makes the disk full, and after.
    #[cfg(target_os = "linux")]
    TellOnFullDisk { events: PathBuf, flag: PathBuf },
    /// Tells live events to a disk that becomes full at some moment.
    #[cfg(target_os = "linux")]
    TellAnyway { events: PathBuf },
}

/// Turns `command`, a clean environment, into a worker on `database`.
pub(super) fn command(mut command: Command, database: &Path, task: &Task) -> Command {
    let given = serde_json::to_string(&(database, task)).unwrap();
    command.args(["--exact", "adversity::worker::entry", "--nocapture"]).env(VARIABLE, given);
    command
}

/// The program that is a worker.
pub(super) fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// The acknowledgements in what a worker or the program printed.
pub(super) fn answers(stdout: &str) -> Vec<Appended> {
    // The test harness's own words stand before the first one and after the last. A process that
    // was killed may have printed half a line.
    stdout.split_inclusive('\n').filter_map(answer).collect()
}

fn answer(line: &str) -> Option<Appended> {
    line.ends_with('\n').then(|| serde_json::from_str(&line[line.find('{')?..]).ok())?
}

#[test]
fn entry() {
    #[expect(clippy::disallowed_methods, reason = "how a worker is told its task")]
    let Ok(given) = std::env::var(VARIABLE) else { return };
    let (database, task): (PathBuf, Task) = serde_json::from_str(&given).unwrap();
    let store = open(&database).unwrap();
    match task {
        Task::ReadThenWrite { writer, count } => read_then_write(&store, writer, count),
        Task::Fill { writer, count, seed } => fill(&store, writer, count, &mut Random::new(seed)),
        Task::OutlastFullDisk { writer, flag } => outlast_full_disk(&store, writer, &flag),
        #[cfg(target_os = "linux")]
        Task::TellOnFullDisk { events, flag } => live_events::tell_on_full_disk(&events, &flag),
        #[cfg(target_os = "linux")]
        Task::TellAnyway { events } => live_events::tell_anyway(&events),
    }
}

fn read_then_write(store: &SqlStore, writer: u64, count: u64) {
    let mut known = 0;
    for line in 0..count {
        let before = block_on(store.session(session())).unwrap().last_seq;
        assert!(before >= known, "the log went back from {known} to {before}");
        let answer = append(store, &[Line::new(writer, line, 40)]).unwrap();
        assert!(answer.first_seq > before, "seq {} was taken already", answer.first_seq);
        known = answer.last_seq;
        print(&answer);
    }
}

fn fill(store: &SqlStore, writer: u64, count: u64, random: &mut Random) {
    let mut line = 0;
    while line < count {
        let batch = *random.pick(&[1, 1, 1, 5, 30]);
        let length = *random.pick(&[20, 300, 5_000]);
        let lines: Vec<_> = (line..line + batch).map(|n| Line::new(writer, n, length)).collect();
        print(&append(store, &lines).unwrap());
        line += batch;
        // The same key again and again: the WAL grows, the database does not.
        let value = char::from(b'a' + (line % 26) as u8).to_string().repeat(500_000);
        let (scope, key) = ("adversity".to_owned(), "filler".to_owned());
        block_on(store.kv_set(KvEntry { scope, key, value })).unwrap();
    }
}

fn outlast_full_disk(store: &SqlStore, writer: u64, flag: &Path) {
    for line in 0..10 {
        let lines = [Line::new(writer, line, 10_000)];
        let answer = append(store, &lines).unwrap_or_else(|error| {
            assert!(Problem::from(&error).detail.contains("full"), "{error}");
            std::fs::remove_file(flag).unwrap();
            append(store, &lines).unwrap()
        });
        print(&answer);
        if line == 4 {
            std::fs::write(flag, "").unwrap();
        }
    }
    assert!(!flag.exists(), "the disk was never full");
}

fn append(store: &SqlStore, lines: &[Line]) -> Result<Appended, StoreError> {
    block_on(store.append_events(session(), lines.iter().map(Line::event).collect()))
}

fn session() -> SessionId {
    SESSION.parse().unwrap()
}

fn print(answer: &Appended) {
    let text = serde_json::to_string(answer).unwrap();
    std::io::stdout().write_all(format!("{text}\n").as_bytes()).unwrap();
}
